// Any bytes as a safetensors file: what is read lies within them.
#include "profiler/trace/error.h"
#include "trainers/workloads/safetensors.h"

#include <cstdint>
#include <cstdlib>
#include <span>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> content = std::as_bytes(std::span(data, size));
  try {
    for (const auto& [name, tensor] : ddpprof::read_safetensors(content, "fuzz")) {
      const std::byte* const end = content.data() + content.size();
      if (tensor.bytes.data() < content.data() || tensor.bytes.data() > end ||
          tensor.bytes.size() > static_cast<std::size_t>(end - tensor.bytes.data())) {
        std::abort();
      }
    }
  } catch (const ddpprof::Error&) {
  }
  return 0;
}

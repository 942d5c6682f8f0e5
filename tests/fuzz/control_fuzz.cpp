// Any bytes as a control line, as an order and as a message.
#include "profiler/formats/control.h"
#include "profiler/trace/error.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

template <typename Parse>
void round_trip(Parse parse, std::string_view line) {
  try {
    const auto value = parse(line);
    if (parse(ddpprof::to_line(value)) != value) std::abort();
  } catch (const ddpprof::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  round_trip(ddpprof::parse_order, line);
  round_trip(ddpprof::parse_message, line);
  return 0;
}

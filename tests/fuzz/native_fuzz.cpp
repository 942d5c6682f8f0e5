// Any bytes as a native trace: a trace that reads must be written and read again to the same value.
#include "profiler/formats/native.h"
#include "profiler/trace/error.h"

#include <cstdint>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const ddpprof::Trace trace = ddpprof::read_native(text, "fuzz");
    if (ddpprof::read_native(ddpprof::write_native(trace), "fuzz again") != trace) std::abort();
  } catch (const ddpprof::Error&) {
  }
  return 0;
}

#include "trainers/common/runs.h"

#include "profiler/formats/file.h"
#include "profiler/formats/native.h"

#include <fstream>
#include <string>

namespace ddpprof {
namespace {

// The most memory the process had so far; it is the device's where the process is the device.
std::optional<std::int64_t> peak_memory_bytes() {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("VmHWM:")) {
      return std::stoll(line.substr(line.find(':') + 1)) * 1024;
    }
  }
  return {};
}

}  // namespace

void start_recording(RunContext& context, std::int32_t visit) {
  context.strategy.set_recording(true);
  context.input.recorder.start(visit);
}

void stop_recording(RunContext& context) {
  context.input.recorder.stop();
  context.strategy.set_recording(false);
}

void write_trace(RunContext& context) {
  if (context.trace.empty()) {
    return;
  }
  TraceInfo info = context.info;
  info.peak_memory_bytes.assign(info.devices.size(), std::nullopt);
  if (info.devices.size() == 1) {
    info.peak_memory_bytes[0] = peak_memory_bytes();
  }
  context.strategy.describe(info);
  const Trace trace = context.input.recorder.take(std::move(info));
  write_file(context.trace, write_native(trace));
}

}  // namespace ddpprof

#include "trainers/common/runs.h"

#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "trainers/common/accelerator.h"

namespace ddpprof {

void start_recording(RunContext& context, std::int32_t visit) {
  context.strategy.set_recording(true);
  context.input.recorder.start(visit);
}

void stop_recording(RunContext& context) {
  // First the strategy, which waits for the ends of its collectives.
  context.strategy.set_recording(false);
  context.input.recorder.stop();
}

void write_trace(RunContext& context) {
  if (context.trace.empty()) {
    return;
  }
  TraceInfo info = context.info;
  info.peak_memory_bytes = peak_memory_bytes(context.input.devices);
  context.strategy.describe(info);
  info.planted_delays_ns = context.input.delay.take_ns();
  const Trace trace = context.input.recorder.take(std::move(info));
  write_file(context.trace, write_native(trace));
}

}  // namespace ddpprof

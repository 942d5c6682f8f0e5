// The two ways to run a training loop: alone to the end, or order by order.
#pragma once

#include "trainers/common/strategy.h"
#include "trainers/common/trace_info.h"
#include "trainers/common/training_loop.h"

#include <filesystem>

namespace ddpprof {

struct RunContext {
  const StrategyInput& input;
  Strategy& strategy;
  TrainingLoop& loop;
  TraceInfo info;
  std::filesystem::path trace;  // empty: write none
};

// Trains --steps or --epochs, prints progress to stderr and the result to stdout. With a trace, the
// steps after the warm-up are recorded.
void run_alone(RunContext& context);

// Warms up, says that it is ready, and obeys until it is told to finish.
void run_orders(RunContext& context, ControlChannel& control);

// Shared by both: switches the recorder and the strategy's own measuring together.
void start_recording(RunContext& context, std::int32_t visit);
void stop_recording(RunContext& context);
// Nothing without --trace.
void write_trace(RunContext& context);

}  // namespace ddpprof

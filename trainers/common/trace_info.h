// What a trace says about the process it was recorded in.
#pragma once

#include "profiler/trace/trace.h"
#include "trainers/common/strategy.h"

namespace ddpprof {

// All but what the recorder fills in and what a strategy adds by describe().
TraceInfo describe_training(const StrategyInput& input, const Strategy& strategy);

}  // namespace ddpprof

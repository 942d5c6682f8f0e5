// How the strategies' step times stand to each other.
#pragma once

#include "profiler/diagnose/diagnosis.h"

#include <vector>

namespace ddpprof {

// Ratios of step time per sample of the global batch, and efficiency = samples/s over devices times
// single's samples/s = 1 / (devices * ratio). Rounds are compared with the rounds beside them, so
// drift of the machine cancels.
// Absent: a strategy is missing, its global batch is not known, or one side was timed while
// recording and the other was not.
// Source: profiler/README.md, "Statistics".
Comparison compare_strategies(const std::vector<StrategyDiagnosis>& strategies);

}  // namespace ddpprof

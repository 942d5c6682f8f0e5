// Times of whole steps, and what recording costs them.
#pragma once

#include "profiler/diagnose/diagnose.h"
#include "profiler/diagnose/diagnosis.h"
#include "profiler/diagnose/strategy.h"

#include <optional>

namespace ddpprof {

// The pass without recording where there was one, else the windows of the recorded steps on their
// critical devices, a round a visit.
StepTimes find_step_times(const StrategyInput& input, const MeasuredRun& measured);

// recorded / not recorded - 1, from rounds that stood next to each other in time. Absent when
// either pass is. Rounds that only one pass has are left out.
std::optional<Estimate> estimate_overhead(const StrategyInput& input);

// ratio_estimate() of the rounds both sides have; absent when there are none, or when
// a time is not above 0.
std::optional<Estimate> ratio_of_rounds(Rounds numerator, Rounds denominator);

}  // namespace ddpprof

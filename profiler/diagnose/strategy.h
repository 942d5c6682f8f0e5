// One strategy's recorded run as figures: per rank and device, and of the critical device.
#pragma once

#include "profiler/diagnose/collectives.h"
#include "profiler/diagnose/diagnosis.h"
#include "profiler/diagnose/measure.h"
#include "profiler/diagnose/timeline.h"
#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof {

// One device of one rank with the steps that count, which are the same on all of them.
struct MeasuredDevice {
  std::size_t trace = 0;  // position in Run::ranks
  std::int32_t rank = 0;
  std::int32_t device = 0;  // position among the process's devices
  DeviceTimeline timeline;
  std::vector<StepFigures> steps;

  // Of the counted step at this position in `steps`.
  const Window& window_of(std::size_t step) const;
};

struct MeasuredRun {
  std::vector<MeasuredDevice> devices;  // by rank, then device
  MatchedCollectives collectives;
  // A counted step each: the critical device, a position in `devices`.
  std::vector<std::size_t> critical;
  std::vector<Issue> issues;  // of matching and of dropped steps
};

// A step counts when every rank recorded it, on all of its devices; the others are dropped and
// counted as an issue.
// Throws Error with `subject` when no step counts.
MeasuredRun measure_run(const Run& run, const std::string& subject);

// Per step the device with the least exposed wait in collectives: the last arriver, for which the
// others wait. A tie goes to the lowest rank, then device. Where waits are not known: over several
// ranks the one with the least exposed communication, within one process its first device, which
// scatters, gathers and reduces for the others. Of devices that are threads in one process always
// the first.
// Where a device has its phases timed alone, what is exposed is not known: within one process the
// first device; over several ranks the device with the least sum of waits, and without known waits
// the one with the least time of collectives in flight.
// Shape: a position in `devices` for each counted step.
std::vector<std::size_t> find_critical(const std::vector<MeasuredDevice>& devices,
                                       bool waits_are_known, bool devices_are_threads);

// Sums over the counted steps of one device, or each step of the critical one.
DeviceFigures sum_device(const std::vector<const StepFigures*>& steps);
std::vector<RankFigures> to_rank_figures(const MeasuredRun& measured, const Run& run);

// Absent parts: where waits are not known, and where the clock's uncertainty exceeds the value.
AllReduceFigures sum_all_reduces(const std::vector<const StepFigures*>& steps,
                                 std::int32_t world_size, std::int64_t uncertainty_ns);

std::vector<const StepFigures*> critical_steps(const MeasuredRun& measured);

// Most often critical; a tie goes to the lowest rank.
std::int32_t find_critical_rank(const MeasuredRun& measured);

// Whether any rank recorded a gradient all-reduce.
bool has_all_reduces(const Run& run);

}  // namespace ddpprof

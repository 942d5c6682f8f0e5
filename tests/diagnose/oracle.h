// The accounting beside the simulator's truth.
#pragma once

#include "profiler/diagnose/timeline.h"
#include "tests/diagnose/simulator.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace ddpprof::test {

inline constexpr double kTolerance = 0.005;  // of the window

using Tables = std::vector<std::vector<Breakdown>>;  // a list a device, a table a step

// By the accounting under test.
Tables account(const Trace& trace);

// The accounting with each segment relabelled.
Tables relabel(const Trace& trace,
               const std::function<Label(const std::vector<Segment>&, std::size_t)>& to_label);

// Accountings that are wrong on purpose.
Tables hide_compute(const Trace& trace);     // behind communication
Tables blame_hosts(const Trace& trace);      // for all stalls
Tables use_next_phases(const Trace& trace);  // stalls have the phase of the next work
Tables use_host_windows(const Trace& trace);

// The largest share of any step's window that is under a wrong label.
double worst_error(const Tables& found, const Tables& truth);

}  // namespace ddpprof::test

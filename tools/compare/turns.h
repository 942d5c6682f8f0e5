// Runs the trainers of a plan in turns and collects what they measured.
#pragma once

#include "reports/json.h"
#include "tools/compare/options.h"
#include "tools/progress.h"
#include "tools/run_directory.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ddpprof {

struct TurnsSetting {
  std::filesystem::path trainer;  // the program
  bool isolate = false;
  std::chrono::milliseconds silence_limit{300'000};
  std::function<std::int64_t()> now_ns;  // a steady clock, for estimates only
};

// Step times, losses and traces of every strategy of the plan; `tool`, `machine`, `started` and
// `command` of the record are the caller's. The traces lie in the run directory and are not read
// here. Throws Error (see Crew), with a hint of its own where a GPU ran out of memory; all trainers
// are ended then.
RunRecord run_in_turns(const ComparePlan& plan, const TurnsSetting& setting,
                       const RunDirectory& directory, Progress& progress);

// The step times of one visit: E(k) - E(k-1) in milliseconds, where E(k) is when the last rank
// ended step k. Shape: one vector a rank, all of the same length n + 1; the result has n values.
std::vector<double> step_times_ms(const std::vector<std::vector<std::int64_t>>& step_ends_ns);

// The order of turns of a round: forward in even rounds, backward in odd ones, so that drift of the
// machine hits all strategies alike.
std::vector<std::size_t> turn_order(std::size_t strategies_count, std::int64_t round);

}  // namespace ddpprof

// Starts what a LaunchPlan says, waits for it, ends it.
#pragma once

#include "tools/train/launch_plan.h"

#include <chrono>
#include <filesystem>
#include <string>

namespace ddpprof {

// This process becomes the trainer, so that terminal, signals and exit code are the trainer's own.
// Throws Error when it cannot be run.
[[noreturn]] void become_trainer(const LaunchPlan& plan, const std::filesystem::path& program);

struct RanksOutcome {
  int exit_code = 0;  // 0; of the rank that failed first; 128 + n where a signal ended it or us
  std::string words;  // for stderr: what is not said there yet, whole lines; or empty
};

// One process a rank. Rank 0 has our standard input, output and error. What another says is kept,
// and its last lines are in `words` where it fails by itself, with "rank 1: " before each.
//
// Guarantees: when one rank dies the others are ended at once, by SIGTERM and after `grace` by
// SIGKILL; when one ends with an exit code other than 0, after half a second, in which they may
// show that theirs was the failure; so are all on SIGINT, SIGTERM and SIGHUP to us (a second one:
// at once by SIGKILL; one that was ignored stays so). The kernel kills them when we are killed.
// Ranks are in our process group: Ctrl-Z stops all.
//
// A rank other than 0 that blames the usage (exit code 2) leaves it to rank 0 to say so, for as
// long as `grace`: wrong usage is wrong for all.
// Throws Error when no process can be started.
RanksOutcome run_ranks(const LaunchPlan& plan, const std::filesystem::path& program,
                       std::chrono::milliseconds grace);

}  // namespace ddpprof

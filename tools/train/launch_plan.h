// What `ddpprof train` starts: which trainer, how many processes, their flags and environment.
#pragma once

#include "tools/compare/options.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddpprof {

// As typed.
struct TrainFlags : DeviceFlags {
  std::string strategy = "single";
  std::vector<std::string> trainer_flags;  // all others, in order
};

struct LaunchPlan {
  std::string trainer;         // its name, beside ddpprof
  bool has_ranks = false;      // ddp, even by one process
  std::int32_t processes = 1;  // one a rank
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // on top of ours, in each process
  std::map<std::string, std::string> defaults;     // where ours has no such variable
  std::vector<std::string> unset;                  // variables of ours that no process may see
  std::vector<std::string> notes;                  // lines the user should read before the run
};

// Throws UsageError for what is wrong whatever the machine. What is wrong with the trainer's own
// flags the trainer says.
void check_usage(const TrainFlags& flags);

// One device for single, else two or as many as asked for: GPUs where there are so many, else the
// CPU, with a note why.
// Throws UsageError as check_usage and for what is wrong on the devices chosen, Error for what this
// machine lacks.
LaunchPlan plan_launch(const TrainFlags& flags, const Offer& offer);

}  // namespace ddpprof

// `ddpprof train`: trains by one strategy, in front of the trainers.
#pragma once

#include "tools/commands/command.h"

namespace ddpprof {

extern const CommandRow kTrainCommand;

}  // namespace ddpprof

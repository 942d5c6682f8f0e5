// `ddpprof compare`: the same training on one device, under DP and under DDP, side by side.
#pragma once

#include "tools/commands/command.h"

namespace ddpprof {

extern const CommandRow kCompareCommand;

}  // namespace ddpprof

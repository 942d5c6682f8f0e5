// `ddpprof list`: what there is to choose from.
#pragma once

#include "tools/commands/command.h"

namespace ddpprof {

extern const CommandRow kListCommand;

}  // namespace ddpprof

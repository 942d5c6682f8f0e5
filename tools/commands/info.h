// `ddpprof info`: what is in a trace or a run.
#pragma once

#include "tools/commands/command.h"

namespace ddpprof {

extern const CommandRow kInfoCommand;

}  // namespace ddpprof

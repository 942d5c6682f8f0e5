// `ddpprof export`: recordings in the formats of other tools.
#pragma once

#include "tools/commands/command.h"

namespace ddpprof {

extern const CommandRow kExportCommand;

}  // namespace ddpprof

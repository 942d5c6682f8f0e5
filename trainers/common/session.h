// One process's training from the first option to the last file.
#pragma once

#include "trainers/common/control_channel.h"
#include "trainers/common/options.h"

namespace ddpprof {

// Trains stand-alone, or under orders where there is a channel. Results of a stand-alone run go to
// stdout, progress to stderr.
// Throws: Error, UsageError, ControlLost.
void run_session(const TrainOptions& options, ControlChannel* control);

}  // namespace ddpprof

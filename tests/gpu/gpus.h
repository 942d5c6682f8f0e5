// The GPUs of this machine, for tests that run on one as well as on two.
#pragma once

#include "tests/trainers/trainer_process.h"

namespace ddpprof::test {

// As `ddpprof-train-cuda --probe` tells; asked once.
int gpus_count();

// Ranks that ddp can have here: at most 2.
int ranks_count();

// Arguments that give dp two replicas: on two GPUs, or twice on the only one.
Arguments two_replicas();

}  // namespace ddpprof::test

// One process a device: what torch.nn.parallel.DistributedDataParallel does.
#pragma once

#include "trainers/common/strategy.h"

#include <memory>

namespace ddpprof {

std::unique_ptr<Strategy> make_ddp(const StrategyInput& input);

}  // namespace ddpprof

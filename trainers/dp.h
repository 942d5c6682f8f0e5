// One process, several devices: what torch.nn.DataParallel does.
#pragma once

#include "trainers/common/strategy.h"

#include <memory>

namespace ddpprof {

std::unique_ptr<Strategy> make_dp(const StrategyInput& input);

}  // namespace ddpprof

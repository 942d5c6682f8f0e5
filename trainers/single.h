// One device: what the other two are measured against.
#pragma once

#include "trainers/common/strategy.h"

#include <memory>

namespace ddpprof {

std::unique_ptr<Strategy> make_single(const StrategyInput& input);

}  // namespace ddpprof

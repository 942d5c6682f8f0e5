// The strategies by name.
#pragma once

#include "trainers/common/strategy.h"

#include <memory>
#include <span>
#include <string_view>

namespace ddpprof {

struct StrategyRow {
  std::string_view name;
  bool has_ranks;    // one process a device, found through the launcher's environment
  bool has_workers;  // drives --workers devices
  std::unique_ptr<Strategy> (*make)(const StrategyInput& input);
};

std::span<const StrategyRow> strategy_rows();

// Throws: UsageError when there is none of that name.
const StrategyRow& find_strategy(std::string_view name);

}  // namespace ddpprof

#include "trainers/strategies.h"

#include "profiler/trace/error.h"
#include "trainers/ddp.h"
#include "trainers/dp.h"
#include "trainers/single.h"

#include <array>
#include <string>

namespace ddpprof {
namespace {

constexpr std::array<StrategyRow, 3> kRows = {{
    {.name = "single", .has_ranks = false, .has_workers = false, .make = make_single},
    {.name = "dp", .has_ranks = false, .has_workers = true, .make = make_dp},
    {.name = "ddp", .has_ranks = true, .has_workers = false, .make = make_ddp},
}};

}  // namespace

std::span<const StrategyRow> strategy_rows() { return kRows; }

const StrategyRow& find_strategy(std::string_view name) {
  std::string names;
  for (const StrategyRow& row : kRows) {
    if (row.name == name) {
      return row;
    }
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw UsageError("--strategy " + std::string(name), "there is no such strategy",
                   "strategies: " + names);
}

}  // namespace ddpprof

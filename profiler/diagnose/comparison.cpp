#include "profiler/diagnose/comparison.h"

#include "profiler/diagnose/step_times.h"

#include <algorithm>
#include <string_view>

namespace ddpprof {
namespace {

const StrategyDiagnosis* find_strategy(const std::vector<StrategyDiagnosis>& strategies,
                                       std::string_view key) {
  const auto found = std::ranges::find(strategies, key, &StrategyDiagnosis::key);
  return found == strategies.end() ? nullptr : &*found;
}

std::optional<Estimate> time_per_sample_ratio(const StrategyDiagnosis* numerator,
                                              const StrategyDiagnosis* denominator) {
  for (const StrategyDiagnosis* strategy : {numerator, denominator}) {
    if (strategy == nullptr || !strategy->step_times) return std::nullopt;
    if (strategy->global_batch.value_or(0) <= 0) return std::nullopt;
  }
  if (numerator->step_times->recorded != denominator->step_times->recorded) return std::nullopt;
  auto ratio =
      ratio_of_rounds(numerator->step_times->rounds_ms, denominator->step_times->rounds_ms);
  if (!ratio) return std::nullopt;
  const double batches = static_cast<double>(*denominator->global_batch) /
                         static_cast<double>(*numerator->global_batch);
  ratio->value *= batches;
  if (ratio->ci95) {
    ratio->ci95->lo *= batches;
    ratio->ci95->hi *= batches;
  }
  return ratio;
}

std::optional<Estimate> efficiency(const std::optional<Estimate>& ratio,
                                   const StrategyDiagnosis* strategy,
                                   const StrategyDiagnosis* single) {
  if (!ratio || strategy->devices <= 0 || single->devices <= 0) return std::nullopt;
  const double devices =
      static_cast<double>(strategy->devices) / static_cast<double>(single->devices);
  Estimate result{.value = 1 / (devices * ratio->value), .ci95 = {}};
  if (ratio->ci95) {
    result.ci95 = Interval{1 / (devices * ratio->ci95->hi), 1 / (devices * ratio->ci95->lo)};
  }
  return result;
}

}  // namespace

Comparison compare_strategies(const std::vector<StrategyDiagnosis>& strategies) {
  const StrategyDiagnosis* single = find_strategy(strategies, "single");
  const StrategyDiagnosis* dp = find_strategy(strategies, "dp");
  const StrategyDiagnosis* ddp = find_strategy(strategies, "ddp");
  Comparison comparison;
  comparison.dp_over_single = time_per_sample_ratio(dp, single);
  comparison.ddp_over_single = time_per_sample_ratio(ddp, single);
  comparison.ddp_over_dp = time_per_sample_ratio(ddp, dp);
  comparison.dp_efficiency = efficiency(comparison.dp_over_single, dp, single);
  comparison.ddp_efficiency = efficiency(comparison.ddp_over_single, ddp, single);
  return comparison;
}

}  // namespace ddpprof

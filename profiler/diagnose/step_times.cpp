#include "profiler/diagnose/step_times.h"

#include <algorithm>
#include <utility>

namespace ddpprof {
namespace {

bool has_samples(const Rounds& rounds) {
  return std::ranges::any_of(rounds, [](const auto& round) { return !round.empty(); });
}

Rounds windows_by_visit(const MeasuredRun& measured) {
  Rounds rounds;
  std::optional<std::int32_t> visit;
  for (const StepFigures* step : critical_steps(measured)) {
    if (visit != step->visit) rounds.emplace_back();
    visit = step->visit;
    rounds.back().push_back(static_cast<double>(step->window_ns) / 1e6);
  }
  return rounds;
}

}  // namespace

StepTimes find_step_times(const StrategyInput& input, const MeasuredRun& measured) {
  if (input.unrecorded_ms && has_samples(*input.unrecorded_ms)) {
    return {.rounds_ms = *input.unrecorded_ms, .recorded = false};
  }
  return {.rounds_ms = windows_by_visit(measured), .recorded = true};
}

std::optional<Estimate> ratio_of_rounds(Rounds numerator, Rounds denominator) {
  const std::size_t count = std::min(numerator.size(), denominator.size());
  numerator.resize(count);
  denominator.resize(count);
  bool has_pair = false;
  for (std::size_t i = 0; i < count; ++i) {
    has_pair = has_pair || (!numerator[i].empty() && !denominator[i].empty());
  }
  // A window without length (a step that launched nothing) is no time to divide by.
  const auto is_time = [](double ms) { return ms > 0; };
  if (!has_pair || !std::ranges::all_of(flatten(numerator), is_time) ||
      !std::ranges::all_of(flatten(denominator), is_time)) {
    return std::nullopt;
  }
  return ratio_estimate(numerator, denominator);
}

std::optional<Estimate> estimate_overhead(const StrategyInput& input) {
  if (!input.recorded_ms || !input.unrecorded_ms) return std::nullopt;
  auto overhead = ratio_of_rounds(*input.recorded_ms, *input.unrecorded_ms);
  if (!overhead) return std::nullopt;
  overhead->value -= 1;
  if (overhead->ci95) {
    overhead->ci95->lo -= 1;
    overhead->ci95->hi -= 1;
  }
  return overhead;
}

}  // namespace ddpprof

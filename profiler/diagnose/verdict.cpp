#include "profiler/diagnose/verdict.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ddpprof {
namespace {

// Independent of the locale, unlike printf.
std::string to_text(double value, int decimals) {
  std::array<char, 64> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, decimals);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string("?");
}

std::string to_percent(double ratio) { return to_text(100 * ratio, 0) + " %"; }

const StrategyDiagnosis* find_strategy(const Diagnosis& diagnosis, std::string_view key) {
  const auto found = std::ranges::find(diagnosis.strategies, key, &StrategyDiagnosis::key);
  return found == diagnosis.strategies.end() ? nullptr : &*found;
}

std::string to_name(const StrategyDiagnosis& strategy) {
  if (strategy.key == "single") return "one device";
  std::string name = strategy.key == "dp" ? "DP" : strategy.key == "ddp" ? "DDP" : strategy.key;
  if (strategy.devices > 0) {
    name += " on " + std::to_string(strategy.devices) +
            (strategy.devices == 1 ? " device" : " devices");
  }
  return name;
}

std::string to_range(const Interval& interval) {
  return "(" + to_text(interval.lo, 2) + " to " + to_text(interval.hi, 2) + ")";
}

// "a step of DDP on 2 devices", "a step on one device".
std::string to_step(const StrategyDiagnosis& strategy) {
  return "a step " + std::string(strategy.key == "single" ? "on " : "of ") + to_name(strategy);
}

// The ratio is of times per sample; where the batches are equal that is the ratio of the steps.
std::string describe_ratio(const StrategyDiagnosis& subject, const Estimate& ratio,
                           const StrategyDiagnosis& reference) {
  const bool same_batch = subject.global_batch == reference.global_batch;
  const std::string who = to_name(subject);
  const std::string whom = to_name(reference);
  const std::string times =
      to_text(ratio.value, 2) + " times as long " + (same_batch ? "a step" : "per sample");
  if (!ratio.ci95) {
    return who + " takes about " + times + " as " + whom + " (too few steps for an interval)";
  }
  if (ratio.ci95->lo <= 1 && ratio.ci95->hi >= 1) {
    return who + " is neither faster nor slower than " + whom +
           " as far as these steps can tell: it takes " + times + " " + to_range(*ratio.ci95);
  }
  if (ratio.ci95->hi < 1) {
    const Interval speedup{1 / ratio.ci95->hi, 1 / ratio.ci95->lo};
    return who + " is " + to_text(1 / ratio.value, 2) + " times as fast as " + whom +
           (same_batch ? " " : " per sample ") + to_range(speedup);
  }
  return who + " takes " + times + " as " + whom + " " + to_range(*ratio.ci95);
}

std::string describe_efficiency(const StrategyDiagnosis& strategy, const Estimate& efficiency) {
  return std::string(", so ") +
         (strategy.devices == 1 ? "its device does " : "each of its devices does ") +
         to_percent(efficiency.value) + " of the work of one alone";
}

std::string describe_against_single(const StrategyDiagnosis& strategy,
                                    const std::optional<Estimate>& ratio,
                                    const std::optional<Estimate>& efficiency,
                                    const StrategyDiagnosis& single) {
  return describe_ratio(strategy, *ratio, single) +
         (efficiency ? describe_efficiency(strategy, *efficiency) : "");
}

std::string describe_label(const Label& label) {
  if (!label.activity) return std::string(to_string(label.phase));
  std::string text(to_string(*label.activity));
  if (label.kind) text += " (" + std::string(to_string(*label.kind)) + ")";
  return text + " in " + std::string(to_string(label.phase));
}

// The largest entry of the table; of equal ones the first in the order of the enumerations.
std::string describe_bound(const StrategyDiagnosis& strategy) {
  const Breakdown& table = strategy.shown.breakdown;
  const std::vector<Label> labels = table.labels();
  if (labels.empty()) return {};
  const Label largest =
      *std::ranges::max_element(labels, {}, [&](const Label& label) { return table[label]; });
  const double share = static_cast<double>(table[largest]) / static_cast<double>(table.total_ns());
  return "the largest part of " + to_step(strategy) + " is " + describe_label(largest) + ", " +
         to_percent(share);
}

std::string describe_alone(const StrategyDiagnosis& strategy) {
  if (!strategy.step_times) return to_step(strategy) + " was not timed";
  const double step_ms = median(flatten(strategy.step_times->rounds_ms));
  return to_step(strategy) + " takes " + to_text(step_ms, 2) + " ms";
}

// Whose step needs explaining: the slowest of those on several devices, else the one there is.
const StrategyDiagnosis* find_slowest(const Diagnosis& diagnosis) {
  const auto mean_ns = [](const StrategyDiagnosis& strategy) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, strategy.shown.steps_count));
    return static_cast<double>(strategy.shown.window_ns) / steps;
  };
  const StrategyDiagnosis* slowest = nullptr;
  for (const StrategyDiagnosis& strategy : diagnosis.strategies) {
    const bool replaces = slowest == nullptr || slowest->key == "single" ||
                          (strategy.key != "single" && mean_ns(strategy) > mean_ns(*slowest));
    if (replaces) slowest = &strategy;
  }
  return slowest;
}

std::string join(const std::vector<std::string>& clauses) {
  std::string sentence;
  for (const std::string& clause : clauses) {
    if (clause.empty()) continue;
    if (!sentence.empty()) sentence += "; ";
    sentence += clause;
  }
  sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
  return sentence + ".";
}

}  // namespace

std::string write_verdict(const Diagnosis& diagnosis) {
  const StrategyDiagnosis* single = find_strategy(diagnosis, "single");
  const StrategyDiagnosis* dp = find_strategy(diagnosis, "dp");
  const StrategyDiagnosis* ddp = find_strategy(diagnosis, "ddp");
  const Comparison& comparison = diagnosis.comparison;

  std::vector<std::string> clauses;
  if (comparison.ddp_over_single) {
    clauses.push_back(describe_against_single(*ddp, comparison.ddp_over_single,
                                              comparison.ddp_efficiency, *single));
  }
  if (comparison.dp_over_single) {
    clauses.push_back(
        describe_against_single(*dp, comparison.dp_over_single, comparison.dp_efficiency, *single));
  }
  if (clauses.empty() && comparison.ddp_over_dp) {
    clauses.push_back(describe_ratio(*ddp, *comparison.ddp_over_dp, *dp));
  }
  if (clauses.empty()) {
    for (const StrategyDiagnosis& strategy : diagnosis.strategies) {
      clauses.push_back(describe_alone(strategy));
    }
  }
  if (const StrategyDiagnosis* slowest = find_slowest(diagnosis)) {
    clauses.push_back(describe_bound(*slowest));
  }
  return clauses.empty() ? "Nothing was measured." : join(clauses);
}

}  // namespace ddpprof

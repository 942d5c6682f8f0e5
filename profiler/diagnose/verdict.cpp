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

// Three significant digits: "131 ms", "28.1 ms", "2.58 ms".
std::string to_ms(double ms) { return to_text(ms, ms >= 99.5 ? 0 : ms >= 9.95 ? 1 : 2) + " ms"; }

const StrategyDiagnosis* find_strategy(const Diagnosis& diagnosis, std::string_view key) {
  const auto found = std::ranges::find(diagnosis.strategies, key, &StrategyDiagnosis::key);
  return found == diagnosis.strategies.end() ? nullptr : &*found;
}

std::string to_name(const StrategyDiagnosis& strategy) {
  if (strategy.key == "single") return "one-device";
  return strategy.key == "dp" ? "DP" : strategy.key == "ddp" ? "DDP" : strategy.key;
}

std::string to_place(const StrategyDiagnosis& strategy) {
  if (strategy.devices == 1) return "one device";
  return std::to_string(strategy.devices) + " devices";
}

// "a DDP step on 2 devices takes 131 ms"
std::string describe_step(const StrategyDiagnosis& strategy) {
  std::string text = "a ";
  if (strategy.key != "single") text += to_name(strategy) + " ";
  text += "step";
  if (strategy.devices > 0) text += " on " + to_place(strategy);
  if (!strategy.step_times) return text + " was not timed";
  return text + " takes " + to_ms(median(flatten(strategy.step_times->rounds_ms)));
}

// An interval around 1 that is wider than this says nothing, not that there is no difference.
constexpr double kTooWide = 1.5;

// "1.31 times as long (1.28 to 1.35)". The ratio is of times per sample; where the batches are
// equal that is the ratio of the steps.
std::string describe_ratio(const Estimate& ratio, bool is_per_sample) {
  const std::string per = is_per_sample ? " per sample" : "";
  const auto range = [](double lo, double hi) {
    return " (" + to_text(lo, 2) + " to " + to_text(hi, 2) + ")";
  };
  if (!ratio.ci95) {
    return "about " + to_text(ratio.value, 2) + " times as long" + per +
           " (too few steps for an interval)";
  }
  if (ratio.ci95->lo <= 1 && ratio.ci95->hi >= 1 && ratio.ci95->hi > kTooWide * ratio.ci95->lo) {
    return "from " + to_text(ratio.ci95->lo, 2) + " to " + to_text(ratio.ci95->hi, 2) +
           " times as long" + per + ", which is too wide to tell";
  }
  if (ratio.ci95->lo <= 1 && ratio.ci95->hi >= 1) {
    return "no difference" + per + " that these steps can tell" +
           range(ratio.ci95->lo, ratio.ci95->hi);
  }
  if (ratio.ci95->hi < 1) {
    return to_text(1 / ratio.value, 2) + " times as fast" + per +
           range(1 / ratio.ci95->hi, 1 / ratio.ci95->lo);
  }
  return to_text(ratio.value, 2) + " times as long" + per + range(ratio.ci95->lo, ratio.ci95->hi);
}

// "a DDP step on 2 devices takes 131 ms against 100 ms on one device: 1.31 times as long (…)".
// `names_reference`: the sentence has not told its time yet.
std::string describe_against(const StrategyDiagnosis& strategy, const Estimate& ratio,
                             const StrategyDiagnosis& reference, bool names_reference) {
  std::string text = describe_step(strategy);
  if (names_reference) {
    const double ms = median(flatten(reference.step_times->rounds_ms));
    text += " against " + to_ms(ms) +
            (reference.key == "single" ? " on one device" : " under " + to_name(reference));
  }
  const bool is_per_sample = strategy.global_batch != reference.global_batch;
  return text + ": " + describe_ratio(ratio, is_per_sample);
}

std::string describe_label(const Label& label) {
  if (!label.activity && label.phase == Phase::other) return "time in no phase";
  if (!label.activity) return std::string(to_string(label.phase));
  std::string text(to_string(*label.activity));
  if (label.kind) text += " (" + std::string(to_string(*label.kind)) + ")";
  return text + " in " + std::string(to_string(label.phase));
}

// "the largest part of the DDP step is …", by the largest entry of the table; of equal ones the
// first in the order of the enumerations.
std::string describe_bound(const StrategyDiagnosis& strategy) {
  const Breakdown& table = strategy.shown.breakdown;
  const std::vector<Label> labels = table.labels();
  if (labels.empty()) return {};
  const Label largest =
      *std::ranges::max_element(labels, {}, [&](const Label& label) { return table[label]; });
  const double share = static_cast<double>(table[largest]) / static_cast<double>(table.total_ns());
  return "the largest part of the " + to_name(strategy) + " step is " + describe_label(largest) +
         " (" + to_percent(share) + ")";
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
    clauses.push_back(describe_against(*ddp, *comparison.ddp_over_single, *single, true));
  }
  if (comparison.dp_over_single) {
    clauses.push_back(describe_against(*dp, *comparison.dp_over_single, *single, clauses.empty()));
  }
  if (clauses.empty() && comparison.ddp_over_dp) {
    clauses.push_back(describe_against(*ddp, *comparison.ddp_over_dp, *dp, true));
  }
  if (clauses.empty()) {
    for (const StrategyDiagnosis& strategy : diagnosis.strategies) {
      clauses.push_back(describe_step(strategy));
    }
  }
  // One device alone needs explaining only where there is nothing else.
  const bool is_alone = diagnosis.strategies.size() == 1;
  for (const StrategyDiagnosis* strategy : {ddp, dp, is_alone ? single : nullptr}) {
    if (strategy != nullptr) clauses.push_back(describe_bound(*strategy));
  }
  return clauses.empty() ? "Nothing was measured." : join(clauses);
}

}  // namespace ddpprof

#include "reports/notes.h"

#include "reports/numbers.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ddpprof {
namespace {

// Issues that are said here in other words.
constexpr std::string_view kWithoutCupti = "recorded-without-cupti";
constexpr std::string_view kLossySteps = "step-lossy";

bool runs_on_gpus(const StrategyDiagnosis& strategy) {
  return std::ranges::any_of(strategy.per_rank, [](const RankFigures& rank) {
    return rank.device_name.starts_with("cuda:");
  });
}

// "phases alone were timed: REASON", once for each reason that a rank gave.
std::string reasons_of(const StrategyDiagnosis& strategy) {
  std::string reasons;
  for (const Issue& issue : strategy.issues) {
    if (issue.code != kWithoutCupti) continue;
    const std::size_t colon = issue.text.find(": ");
    reasons += reasons.empty() ? ": " : "; ";
    reasons += colon == std::string::npos ? issue.text : issue.text.substr(colon + 2);
  }
  return reasons;
}

// What saw the devices of a strategy; absent where it was CUPTI, where the devices are threads,
// and where nobody says.
std::optional<std::string> source_text(const StrategyDiagnosis& strategy) {
  const auto timed_alone = std::ranges::count_if(
      strategy.per_rank, [](const RankFigures& rank) { return has_phases_alone(rank.figures); });
  const bool by_some = timed_alone > 0 && std::cmp_less(timed_alone, strategy.per_rank.size());
  const std::string reasons = reasons_of(strategy);
  if (timed_alone > 0 || strategy.recorder == kEventRecorder || !reasons.empty()) {
    return fmt::format("phases alone were timed{} (CUDA events){}. What is hidden is not known.",
                       by_some ? " on some devices" : "", reasons);
  }
  if (!strategy.recorder || *strategy.recorder == kCuptiRecorder || !runs_on_gpus(strategy)) {
    return std::nullopt;
  }
  return *strategy.recorder == kHostRecorder
             ? "the host's clock alone timed the devices."
             : fmt::format("the devices were seen by {}.", *strategy.recorder);
}

std::string capitalised(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

// Strategies of which the same is to be said share a sentence, which names them unless it is true
// of all.
void add_source_notes(const Diagnosis& diagnosis, std::vector<std::string>& notes) {
  std::vector<std::pair<std::string, std::string>> keys_by_text;  // text, keys
  for (const StrategyDiagnosis& strategy : diagnosis.strategies) {
    const auto text = source_text(strategy);
    if (!text) continue;
    const auto same =
        std::ranges::find(keys_by_text, *text, &std::pair<std::string, std::string>::first);
    if (same == keys_by_text.end()) {
      keys_by_text.emplace_back(*text, strategy.key);
    } else {
      same->second += ", " + strategy.key;
    }
  }
  const bool is_of_all =
      keys_by_text.size() == 1 &&
      std::ranges::all_of(diagnosis.strategies, [](const StrategyDiagnosis& strategy) {
        return source_text(strategy).has_value();
      });
  for (const auto& [text, keys] : keys_by_text) {
    notes.push_back(is_of_all ? capitalised(text) : fmt::format("{}: {}", keys, text));
  }
}

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count_text(count), count == 1 ? one : many);
}

// How many records a strategy lost, and what became of the steps they were of. Empty: none.
std::string losses_text(const StrategyDiagnosis& strategy) {
  std::int64_t lossy_steps = 0;
  for (const Issue& issue : strategy.issues) {
    if (issue.code == kLossySteps) lossy_steps += issue.count;
  }
  const std::string left_out = counted(lossy_steps, "step lost records and is left out",
                                       "steps lost records and are left out");
  if (strategy.dropped_records == 0) return lossy_steps == 0 ? "" : left_out;
  const std::string dropped =
      counted(strategy.dropped_records, "record was dropped; ", "records were dropped; ");
  return dropped + (lossy_steps == 0 ? "no step is known to have lost any" : left_out);
}

}  // namespace

bool has_phases_alone(const DeviceFigures& figures) {
  return std::ranges::any_of(figures.breakdown.labels(),
                             [](const Label& label) { return !label.activity; });
}

std::vector<std::string> recording_notes(const Diagnosis& diagnosis) {
  std::vector<std::string> notes;
  add_source_notes(diagnosis, notes);
  for (const StrategyDiagnosis& strategy : diagnosis.strategies) {
    const std::string losses = losses_text(strategy);
    if (!losses.empty()) notes.push_back(strategy.key + ": " + losses);
  }
  for (const StrategyDiagnosis& strategy : diagnosis.strategies) {
    for (const Issue& issue : strategy.issues) {
      if (issue.code == kWithoutCupti || issue.code == kLossySteps) continue;
      notes.push_back(strategy.key + ": " + issue.text);
    }
  }
  return notes;
}

}  // namespace ddpprof

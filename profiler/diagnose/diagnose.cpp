#include "profiler/diagnose/diagnose.h"

#include "profiler/diagnose/buckets.h"
#include "profiler/diagnose/comparison.h"
#include "profiler/diagnose/counts.h"
#include "profiler/diagnose/step_times.h"
#include "profiler/diagnose/strategy.h"
#include "profiler/diagnose/verdict.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

// Equal issues of several ranks become one.
std::vector<Issue> merge_issues(const Run& run, const std::vector<Issue>& found) {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  const auto add = [&](const Issue& issue) { counts[{issue.code, issue.text}] += issue.count; };
  for (const Trace& trace : run.ranks) std::ranges::for_each(trace.issues, add);
  std::ranges::for_each(found, add);
  std::vector<Issue> merged;
  for (const auto& [key, count] : counts) merged.push_back({key.first, key.second, count});
  return merged;
}

// The largest of all ranks; absent when one of them does not tell. Ranks of one boot share a clock;
// that of the devices' times against it comes on top.
std::optional<std::int64_t> find_clock_uncertainty(const Run& run) {
  std::int64_t largest = 0;
  const std::string& boot_id = run.ranks.front().info.boot_id;
  for (const Trace& trace : run.ranks) {
    const bool shares_clock = !boot_id.empty() && trace.info.boot_id == boot_id;
    if (!shares_clock && !trace.info.clock_uncertainty_ns) return std::nullopt;
    const std::int64_t of_clock = shares_clock ? 0 : *trace.info.clock_uncertainty_ns;
    largest = std::max(largest, of_clock + trace.info.device_clock_uncertainty_ns.value_or(0));
  }
  return largest;
}

std::optional<std::string> find_recorder(const Run& run) {
  const std::string& first = run.ranks.front().info.recorder;
  const bool all_agree = std::ranges::all_of(
      run.ranks, [&](const Trace& trace) { return trace.info.recorder == first; });
  return all_agree && !first.empty() ? std::optional(first) : std::nullopt;
}

void copy_infos(const Run& run, StrategyDiagnosis& diagnosis) {
  diagnosis.clock_uncertainty_ns = find_clock_uncertainty(run);
  diagnosis.recorder = find_recorder(run);
  diagnosis.ddp_logging_numbers = run.ranks.front().info.ddp_logging_numbers;
  diagnosis.ddp_logging_texts = run.ranks.front().info.ddp_logging_texts;
  for (const Trace& trace : run.ranks) {
    diagnosis.dropped_records += trace.info.dropped_records;
    diagnosis.peak_memory_bytes.insert(diagnosis.peak_memory_bytes.end(),
                                       trace.info.peak_memory_bytes.begin(),
                                       trace.info.peak_memory_bytes.end());
  }
}

Run sort_ranks(Run run) {
  std::ranges::stable_sort(run.ranks, {}, [](const Trace& trace) { return trace.info.rank; });
  return run;
}

StrategyDiagnosis diagnose_strategy(const StrategyInput& input) {
  const Run run = sort_ranks(input.run);
  const MeasuredRun measured = measure_run(run, input.key);
  const auto shown = critical_steps(measured);

  StrategyDiagnosis diagnosis;
  diagnosis.key = input.key;
  diagnosis.processes = input.processes;
  diagnosis.devices = input.devices;
  diagnosis.global_batch = input.global_batch;
  diagnosis.step_times = find_step_times(input, measured);
  diagnosis.overhead = estimate_overhead(input);
  diagnosis.shown = sum_device(shown);
  if (has_all_reduces(run)) {
    diagnosis.all_reduce = sum_all_reduces(shown, run.ranks.front().info.world_size,
                                           measured.collectives.uncertainty_ns);
  }
  diagnosis.critical_rank = find_critical_rank(measured);
  diagnosis.per_rank = to_rank_figures(measured, run);
  diagnosis.buckets = find_buckets(measured, run);
  diagnosis.counts = find_counts(run.ranks.front());
  diagnosis.loss = input.loss;
  diagnosis.issues = merge_issues(run, measured.issues);
  copy_infos(run, diagnosis);
  return diagnosis;
}

// single, dp, ddp, then others by name.
std::pair<int, std::string> strategy_order(const StrategyDiagnosis& strategy) {
  const int place = strategy.key == "single" ? 0
                    : strategy.key == "dp"   ? 1
                    : strategy.key == "ddp"  ? 2
                                             : 3;
  return {place, strategy.key};
}

}  // namespace

Diagnosis diagnose(const DiagnoseInput& input) {
  Diagnosis diagnosis;
  diagnosis.tool = input.tool;
  diagnosis.workload = input.workload;
  diagnosis.machine = input.machine;
  for (const StrategyInput& strategy : input.strategies) {
    diagnosis.strategies.push_back(diagnose_strategy(strategy));
  }
  std::ranges::stable_sort(diagnosis.strategies, {}, strategy_order);
  diagnosis.comparison = compare_strategies(diagnosis.strategies);
  diagnosis.verdict = write_verdict(diagnosis);
  return diagnosis;
}

}  // namespace ddpprof

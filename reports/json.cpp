#include "reports/json.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace ddpprof {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Mean milliseconds a step of a sum of nanoseconds over `steps_count` steps.
double mean_ms(std::int64_t ns, std::int64_t steps_count) {
  return static_cast<double>(ns) / static_cast<double>(steps_count) / 1e6;
}

Json mean_ms(const std::optional<std::int64_t>& ns, std::int64_t steps_count) {
  return ns ? Json(mean_ms(*ns, steps_count)) : Json(nullptr);
}

std::optional<std::int64_t> difference(std::optional<std::int64_t> a,
                                       std::optional<std::int64_t> b) {
  return a && b ? std::optional(*a - *b) : std::nullopt;
}

// An integer where the mean is one.
Json whole_if_exact(double value) {
  const double whole = std::round(value);
  return whole == value ? Json(static_cast<std::int64_t>(whole)) : Json(value);
}

Json mean_count(std::int64_t sum, std::int64_t steps_count) {
  return whole_if_exact(static_cast<double>(sum) / static_cast<double>(steps_count));
}

Json interval(const std::optional<Interval>& ci95) {
  return ci95 ? Json{ci95->lo, ci95->hi} : Json(nullptr);
}

Json estimate(const std::optional<Estimate>& value) {
  if (!value) return nullptr;
  return {{"ratio", value->value}, {"ci95", interval(value->ci95)}};
}

Json tool_json(const ToolInfo& tool) {
  return {{"version", tool.version}, {"commit", tool.commit}};
}

Json workload_json(const WorkloadInfo& workload) {
  return {{"name", workload.name},
          {"model", workload.model},
          {"dtype", workload.dtype},
          {"global_batch", or_null(workload.global_batch)},
          {"parameters_count", or_null(workload.parameters_count)},
          {"gradient_bytes", or_null(workload.gradient_bytes)},
          {"sequence_length", or_null(workload.sequence_length)},
          {"micro_steps", or_null(workload.micro_steps)}};
}

Json machine_json(const MachineInfo& machine) {
  Json devices = Json::array();
  for (const Device& device : machine.devices) {
    devices.push_back({{"name", device.name}, {"memory_bytes", device.memory_bytes}});
  }
  return {{"devices", std::move(devices)},           {"link", or_null(machine.link)},
          {"cpu_count", or_null(machine.cpu_count)}, {"driver", or_null(machine.driver)},
          {"cuda", or_null(machine.cuda)},           {"nccl", or_null(machine.nccl)},
          {"torch", or_null(machine.torch)}};
}

Json step_times_json(const std::optional<StepTimes>& times) {
  if (!times) return nullptr;
  const std::vector<double> samples = flatten(times->rounds_ms);
  Json round_sizes = Json::array();
  for (const auto& round : times->rounds_ms) round_sizes.push_back(round.size());
  return {{"median", median(samples)},
          {"p10", quantile(samples, 0.1)},
          {"p90", quantile(samples, 0.9)},
          {"ci95", interval(median_estimate(times->rounds_ms).ci95)},
          {"samples", samples},
          {"round_sizes", std::move(round_sizes)},
          {"recorded", times->recorded}};
}

Json breakdown_json(const DeviceFigures& figures) {
  Json rows = Json::array();
  for (const Label& label : figures.breakdown.labels()) {
    const std::int64_t ns = figures.breakdown[label];
    rows.push_back({{"phase", to_string(label.phase)},
                    {"activity", label.activity ? Json(to_string(*label.activity)) : Json(nullptr)},
                    {"kind", label.kind ? Json(to_string(*label.kind)) : Json(nullptr)},
                    {"ms", mean_ms(ns, figures.steps_count)},
                    {"share", static_cast<double>(ns) / static_cast<double>(figures.window_ns)}});
  }
  return rows;
}

Json all_reduce_json(const std::optional<AllReduceFigures>& figures) {
  if (!figures) return nullptr;
  const std::int64_t steps = figures->steps_count;
  Json busbw = nullptr;
  if (figures->transfer_ns && *figures->transfer_ns > 0) {
    // nccl-tests: busbw = S / t * 2 (n - 1) / n; bytes a nanosecond are GB/s.
    const double n = figures->world_size;
    busbw = static_cast<double>(figures->bytes) / static_cast<double>(*figures->transfer_ns) * 2 *
            (n - 1) / n;
  }
  return {{"count", mean_count(figures->count, steps)},
          {"bytes", mean_count(figures->bytes, steps)},
          {"total_ms", mean_ms(figures->total_ns, steps)},
          {"hidden_ms", mean_ms(figures->hidden_ns, steps)},
          {"exposed_ms", mean_ms(difference(figures->total_ns, figures->hidden_ns), steps)},
          {"exposed_wait_ms", mean_ms(figures->exposed_wait_ns, steps)},
          {"exposed_transfer_ms", mean_ms(figures->exposed_transfer_ns, steps)},
          {"wait_ms", mean_ms(figures->wait_ns, steps)},
          {"transfer_ms", mean_ms(figures->transfer_ns, steps)},
          {"busbw_gb_per_s", std::move(busbw)}};
}

Json communication_json(const DeviceFigures& figures) {
  const std::int64_t steps = figures.steps_count;
  const auto exposed_ns = difference(figures.communication_ns, figures.hidden_communication_ns);
  return {{"total_ms", mean_ms(figures.communication_ns, steps)},
          {"hidden_ms", mean_ms(figures.hidden_communication_ns, steps)},
          {"exposed_ms", mean_ms(exposed_ns, steps)},
          {"contention_ms", mean_ms(figures.contention_ns, steps)}};
}

Json ranks_json(const std::vector<RankFigures>& ranks) {
  Json rows = Json::array();
  for (const RankFigures& rank : ranks) {
    const std::int64_t steps = rank.figures.steps_count;
    rows.push_back({{"rank", rank.rank},
                    {"device", rank.device_name},
                    {"window_ms", mean_ms(rank.figures.window_ns, steps)},
                    {"breakdown", breakdown_json(rank.figures)},
                    {"communication_ms", mean_ms(rank.figures.communication_ns, steps)},
                    {"all_reduce", all_reduce_json(rank.all_reduce)},
                    {"wait_ms", mean_ms(rank.wait_ns, steps)},
                    {"transfer_ms", mean_ms(rank.transfer_ns, steps)}});
  }
  return rows;
}

Json buckets_json(const std::vector<BucketFigures>& buckets) {
  Json rows = Json::array();
  for (const BucketFigures& bucket : buckets) {
    rows.push_back({{"index", bucket.index},
                    {"bytes", bucket.bytes},
                    {"ready_ms", bucket.ready_ms},
                    {"queued_ms", bucket.queued_ms},
                    {"start_ms", bucket.start_ms},
                    {"end_ms", bucket.end_ms}});
  }
  return rows;
}

Json counts_json(const std::map<std::string, double>& counts) {
  Json row;
  for (const char* key : {"replicate", "scatter", "forward", "gather", "backward", "all_reduce",
                          "broadcast", "optimizer", "launch"}) {
    const auto found = counts.find(key);
    row[key] = found == counts.end() ? Json(nullptr) : whole_if_exact(found->second);
  }
  return row;
}

Json loss_json(const std::optional<LossFigures>& loss) {
  if (!loss) return nullptr;
  return {{"first", loss->first}, {"last", loss->last}};
}

Json strategy_json(const StrategyDiagnosis& strategy) {
  Json ddp_logging = Json::object();
  for (const auto& [name, value] : strategy.ddp_logging_numbers) ddp_logging[name] = value;
  for (const auto& [name, value] : strategy.ddp_logging_texts) ddp_logging[name] = value;
  Json peaks = Json::array();
  for (const auto& peak : strategy.peak_memory_bytes) peaks.push_back(or_null(peak));
  Json issues = Json::array();
  for (const Issue& issue : strategy.issues) {
    issues.push_back({{"code", issue.code}, {"text", issue.text}, {"count", issue.count}});
  }
  Json samples_per_s = nullptr;
  if (strategy.step_times && strategy.global_batch) {
    samples_per_s = static_cast<double>(*strategy.global_batch) /
                    median(flatten(strategy.step_times->rounds_ms)) * 1000;
  }
  const DeviceFigures& shown = strategy.shown;
  return {{"processes", strategy.processes},
          {"devices", strategy.devices},
          {"global_batch", or_null(strategy.global_batch)},
          {"step_ms", step_times_json(strategy.step_times)},
          {"samples_per_s", std::move(samples_per_s)},
          {"overhead", estimate(strategy.overhead)},
          {"window_ms", mean_ms(shown.window_ns, shown.steps_count)},
          {"residual_ns", shown.residual_ns()},
          {"spill_ms", mean_ms(shown.spill_ns, shown.steps_count)},
          {"recorded_steps", shown.steps_count},
          {"breakdown", breakdown_json(shown)},
          {"critical_rank", or_null(strategy.critical_rank)},
          {"per_rank", ranks_json(strategy.per_rank)},
          {"communication", communication_json(shown)},
          {"all_reduce", all_reduce_json(strategy.all_reduce)},
          {"buckets", buckets_json(strategy.buckets)},
          {"counts", counts_json(strategy.counts)},
          {"ddp_logging", std::move(ddp_logging)},
          {"recorder", or_null(strategy.recorder)},
          {"dropped_records", strategy.dropped_records},
          {"clock_uncertainty_ns", or_null(strategy.clock_uncertainty_ns)},
          {"peak_memory_bytes", std::move(peaks)},
          {"loss", loss_json(strategy.loss)},
          {"issues", std::move(issues)}};
}

Json finding_json(const Finding& finding) {
  constexpr const char* kSeverities[] = {"info", "warning", "critical"};
  Json evidence = Json::array();
  for (const Metric& metric : finding.evidence) {
    evidence.push_back({{"id", metric.id}, {"value", metric.value}, {"unit", metric.unit}});
  }
  return {{"id", finding.id},
          {"code", finding.code},
          {"strategy", finding.strategy},
          {"severity", kSeverities[static_cast<std::size_t>(finding.severity)]},
          {"claim", finding.claim},
          {"advice", finding.advice},
          {"ms_per_step", or_null(finding.ms_per_step)},
          {"predicted_step_ms", or_null(finding.predicted_step_ms)},
          {"evidence", std::move(evidence)}};
}

std::string text_of(const Json& json) {
  // Device names and log texts may hold bytes that are not UTF-8: they are replaced, not refused.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string report_json(const Diagnosis& diagnosis) {
  Json strategies = Json::object();
  for (const StrategyDiagnosis& strategy : diagnosis.strategies) {
    strategies[strategy.key] = strategy_json(strategy);
  }
  Json findings = Json::array();
  for (const Finding& finding : diagnosis.findings) findings.push_back(finding_json(finding));
  Json unjudged = Json::array();
  for (const Unjudged& rule : diagnosis.unjudged) {
    unjudged.push_back({{"id", rule.id}, {"code", rule.code}, {"why", rule.why}});
  }
  const Comparison& comparison = diagnosis.comparison;
  return text_of({{"schema", kReportSchema},
                  {"tool", tool_json(diagnosis.tool)},
                  {"workload", workload_json(diagnosis.workload)},
                  {"machine", machine_json(diagnosis.machine)},
                  {"strategies", std::move(strategies)},
                  {"comparison",
                   {{"dp_over_single", estimate(comparison.dp_over_single)},
                    {"ddp_over_single", estimate(comparison.ddp_over_single)},
                    {"ddp_over_dp", estimate(comparison.ddp_over_dp)},
                    {"ddp_efficiency", estimate(comparison.ddp_efficiency)},
                    {"dp_efficiency", estimate(comparison.dp_efficiency)}}},
                  {"findings", std::move(findings)},
                  {"unjudged", std::move(unjudged)},
                  {"verdict", diagnosis.verdict}});
}

std::string run_json(const RunRecord& record) {
  Json strategies = Json::object();
  for (std::size_t i = 0; i < record.input.strategies.size(); ++i) {
    const StrategyInput& strategy = record.input.strategies[i];
    strategies[strategy.key] = {{"processes", strategy.processes},
                                {"devices", strategy.devices},
                                {"global_batch", or_null(strategy.global_batch)},
                                {"traces", record.files[i].traces},
                                {"logs", record.files[i].logs},
                                {"unrecorded_ms", or_null(strategy.unrecorded_ms)},
                                {"recorded_ms", or_null(strategy.recorded_ms)},
                                {"loss", loss_json(strategy.loss)}};
  }
  return text_of({{"schema", kReportSchema},
                  {"tool", tool_json(record.input.tool)},
                  {"started", record.started},
                  {"command", record.command},
                  {"steps", record.steps},
                  {"rounds", record.rounds},
                  {"warmup", record.warmup},
                  {"recorded_steps", record.recorded_steps},
                  {"threads_per_device", record.threads_per_device},
                  {"isolated", record.isolated},
                  {"workload", workload_json(record.input.workload)},
                  {"machine", machine_json(record.input.machine)},
                  {"strategies", std::move(strategies)}});
}

}  // namespace ddpprof

#include "tools/info/describe.h"

#include "profiler/formats/json_value.h"
#include "profiler/trace/error.h"
#include "reports/numbers.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpprof {
namespace {

std::string known(const std::string& text) { return text.empty() ? kUnmeasured : text; }

std::string line(const char* label, const std::string& text) {
  return fmt::format("  {:<10}{}\n", label, known(text));
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count_text(static_cast<std::int64_t>(count)), what,
                     count == 1 ? "" : "s");
}

std::string title(const TraceInfo& info) {
  const WorkloadInfo& workload = info.workload;
  std::string text =
      fmt::format("{}, rank {} of {}: {} ({}), {}, global batch {}", known(info.strategy),
                  info.rank, info.world_size, known(workload.name), known(workload.model),
                  known(workload.dtype), count_text(workload.global_batch));
  if (workload.sequence_length) text += fmt::format(", length {}", *workload.sequence_length);
  return text + "\n";
}

std::string steps_text(const Trace& trace) {
  if (trace.steps.empty()) return "no step";
  std::set<std::int32_t> visits;
  std::int64_t total_ns = 0, first = trace.steps.front().index, last = first;
  for (const Step& step : trace.steps) {
    visits.insert(step.visit);
    total_ns += step.span.length_ns();
    first = std::min(first, step.index);
    last = std::max(last, step.index);
  }
  return fmt::format(
      "{}, {} to {}, in {}, {} of the host's time", counted(trace.steps.size(), "step"), first,
      last, counted(visits.size(), "visit"), duration_text(static_cast<double>(total_ns) / 1e9));
}

std::string gib_text(std::int64_t bytes) {
  return number_text(static_cast<double>(bytes) / kBytesPerGib) + " GiB";
}

std::string device_text(const TraceInfo& info, std::size_t index) {
  const Device& device = info.devices[index];
  std::string text = device.name;
  if (device.number) text = fmt::format("cuda:{} {}", *device.number, text);
  if (device.memory_bytes > 0) text += ", " + gib_text(device.memory_bytes);
  if (index < info.peak_memory_bytes.size() && info.peak_memory_bytes[index]) {
    text += ", at most " + gib_text(*info.peak_memory_bytes[index]) + " used";
  }
  return text;
}

// What there is none of is left out.
std::string records_text(const Trace& trace) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) parts.push_back(counted(count, what));
  };
  add(trace.threads.size(), "thread");
  add(trace.scopes.size(), "scope");
  add(trace.calls.size(), "call");
  add(trace.work.size(), "piece");
  if (!trace.work.empty()) parts.back() += " of device work";
  add(trace.device_phases.size(), "timed phase");
  add(trace.collectives.size(), "collective");
  const auto gradients = std::ranges::count_if(trace.collectives, &Collective::gradient);
  if (gradients > 0) parts.back() += fmt::format(" ({} of gradients)", count_text(gradients));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string microseconds(std::int64_t ns) {
  return number_text(static_cast<double>(ns) / 1e3) + " us";
}

std::string clock_text(const TraceInfo& info) {
  std::string text = fmt::format("host {}, boot {}", known(info.host), known(info.boot_id));
  const std::int64_t elapsed_ns = info.clock_end.monotonic_ns - info.clock_begin.monotonic_ns;
  const std::int64_t real_ns = info.clock_end.real_ns - info.clock_begin.real_ns;
  if (elapsed_ns > 0) {
    text += fmt::format("; in {} wall and monotonic clock parted by {}",
                        duration_text(static_cast<double>(elapsed_ns) / 1e9),
                        microseconds(std::abs(real_ns - elapsed_ns)));
  }
  if (info.clock_uncertainty_ns) {
    text += fmt::format("; {} uncertain", microseconds(*info.clock_uncertainty_ns));
  }
  if (info.device_clock_uncertainty_ns) {
    text += fmt::format("; devices' times {} uncertain",
                        microseconds(*info.device_clock_uncertainty_ns));
  }
  return text;
}

std::string versions_text(const TraceInfo& info) {
  std::vector<std::string> parts;
  for (const auto& [name, version] : info.versions)
    parts.push_back(fmt::format("{} {}", name, version));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string dropped_text(const Trace& trace) {
  const auto lossy = std::ranges::count_if(trace.steps, &Step::has_losses);
  const std::string steps = counted(static_cast<std::size_t>(lossy), "step");
  if (trace.info.dropped_records == 0 && lossy == 0) return "none";
  return count_text(trace.info.dropped_records) + (lossy == 0 ? "" : ", " + steps + " with losses");
}

std::string overheads_text(const TraceInfo& info) {
  std::vector<std::string> parts;
  for (const auto& [kind, ns] : info.collector_overheads_ns) {
    parts.push_back(fmt::format("{} {} ms", kind, number_text(static_cast<double>(ns) / 1e6)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void read_report(const JsonObject& report, RunFacts::Strategy& strategy) {
  const JsonObject entry = report.object("strategies").object(strategy.key);
  entry.read("recorder", strategy.recorder);
  if (entry.has_value("overhead")) entry.object("overhead").read("ratio", strategy.overhead);
}

}  // namespace

std::string describe_trace(const Trace& trace) {
  const TraceInfo& info = trace.info;
  std::string text = title(info) + line("recorded", steps_text(trace));
  for (std::size_t i = 0; i < info.devices.size(); ++i) {
    text += line(i == 0 ? "devices" : "", device_text(info, i));
  }
  text += line("recorder", info.recorder) + line("records", records_text(trace));
  text += line("dropped", dropped_text(trace));
  if (!info.collector_overheads_ns.empty()) text += line("collector", overheads_text(info));
  text += line("clock", clock_text(info));
  text += line("versions", versions_text(info));
  for (const Issue& issue : trace.issues) {
    text +=
        line("issue", fmt::format("{}: {} ({})", issue.code, issue.text, count_text(issue.count)));
  }
  return text;
}

RunFacts read_run_facts(const std::string& run_json, const std::string& run_name,
                        const std::string& report_json, const std::string& report_name) {
  const JsonValue json = parse_json(run_json, run_name);
  const JsonObject run(json, run_name, "run");
  std::optional<JsonValue> report;
  if (!report_json.empty()) report = parse_json(report_json, report_name);
  const JsonObject strategies = run.object("strategies");
  RunFacts facts;
  run.object("tool").read("version", facts.tool_version);
  run.read("started", facts.started);
  run.read("command", facts.command);
  for (const std::string& key : strategies.keys()) {
    RunFacts::Strategy strategy{.key = key, .traces = {}, .recorder = {}, .overhead = {}};
    strategies.object(key).read("traces", strategy.traces);
    if (report) read_report(JsonObject(*report, report_name, "report"), strategy);
    facts.strategies.push_back(std::move(strategy));
  }
  return facts;
}

std::string describe_run(const RunFacts& facts) {
  std::string text = fmt::format("run of ddpprof {}, {}\n  {}\n", facts.tool_version, facts.started,
                                 fmt::join(facts.command, " "));
  for (const RunFacts::Strategy& strategy : facts.strategies) {
    text += fmt::format("  {:<10}{}, recorder {}, recording cost {}\n", strategy.key,
                        counted(strategy.traces.size(), "trace"),
                        strategy.recorder.value_or(kUnmeasured), share_text(strategy.overhead));
  }
  return text;
}

}  // namespace ddpprof

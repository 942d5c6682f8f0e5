// Everything ddpprof has to say about a job, as values: what report.json holds and what every
// renderer starts from. Nothing here is text for people but the claims, advices and the verdict.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "profiler/diagnose/statistics.h"
#include "profiler/trace/trace.h"
#include "profiler/trace/workload_info.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof {

struct ToolInfo {
  std::string version;
  std::string commit;
};

struct MachineInfo {
  std::vector<Device> devices;
  std::optional<std::string> link, driver, cuda, nccl, torch;
  std::optional<std::int64_t> cpu_count;
};

// Times of whole steps. `recorded`: taken while events were recorded (imports know no other).
struct StepTimes {
  Rounds rounds_ms;  // in time order
  bool recorded = false;
};

// Sums over the counted steps are kept as integers, means are made where they are printed:
// mean milliseconds a step = ns / steps_count / 1e6.
// Absent where phases alone were timed: |C|, |C n K|, contention and spill.
struct DeviceFigures {
  std::int64_t steps_count = 0;
  std::int64_t window_ns = 0;
  Breakdown breakdown;
  std::optional<std::int64_t> communication_ns, hidden_communication_ns;
  std::optional<std::int64_t> contention_ns;
  std::optional<std::int64_t> spill_ns;

  // breakdown.total_ns() - window_ns; anything but 0 is a bug.
  std::int64_t residual_ns() const { return breakdown.total_ns() - window_ns; }
};

// Gradient all-reduces of one rank, sums over the counted steps.
// hidden = |C n K|, exposed = |C| - hidden = exposed_wait + exposed_transfer; wait and transfer are
// sums over collectives. wait, transfer and their exposed parts are absent where a rank is missing,
// where nothing matches between ranks, and where the clock's uncertainty exceeds the value; hidden
// and the exposed parts also where phases alone were timed. Where the ranks share no clock the
// shortest duration over the ranks stands for the transfer, and the issue "no-common-clock" says
// so. Source: profiler/README.md, "A collective's duration contains waiting".
struct AllReduceFigures {
  std::int64_t steps_count = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t total_ns = 0;
  std::optional<std::int64_t> hidden_ns;
  std::optional<std::int64_t> exposed_wait_ns, exposed_transfer_ns, wait_ns, transfer_ns;
  std::int32_t world_size = 1;
};

// One bucket of DDP, means over the steps in milliseconds from the window's begin.
struct BucketFigures {
  std::int32_t index = 0;
  std::int64_t bytes = 0;
  double ready_ms = 0, queued_ms = 0, start_ms = 0, end_ms = 0;
};

struct RankFigures {
  std::int32_t rank = 0;
  std::int32_t device = 0;  // index among the process's devices
  std::string device_name;  // "cuda:1", "cpu:0"
  DeviceFigures figures;
  std::optional<AllReduceFigures> all_reduce;
  std::optional<std::int64_t> wait_ns, transfer_ns;  // all collectives
};

struct LossFigures {
  double first = 0;
  double last = 0;
};

struct StrategyDiagnosis {
  std::string key;  // single | dp | ddp, or the job's name
  std::int32_t processes = 0;
  std::int32_t devices = 0;
  std::optional<std::int64_t> global_batch;
  std::optional<StepTimes> step_times;
  std::optional<Estimate> overhead;  // recorded / not recorded - 1

  // The shown table: sums over the counted steps, each step taken from its critical device.
  DeviceFigures shown;
  std::optional<AllReduceFigures> all_reduce;  // of the critical ranks; absent under single and dp
  std::optional<std::int32_t> critical_rank;   // most often critical
  std::vector<RankFigures> per_rank;           // a row a rank and device
  std::vector<BucketFigures> buckets;
  std::map<std::string, double> counts;  // a step; a missing key was not counted
  std::map<std::string, std::int64_t> ddp_logging_numbers;
  std::map<std::string, std::string> ddp_logging_texts;
  // What saw the devices, as TraceInfo::recorder. Absent: ranks disagree, or one does not say.
  std::optional<std::string> recorder;
  std::int64_t dropped_records = 0;
  std::optional<std::int64_t> clock_uncertainty_ns;
  std::vector<std::optional<std::int64_t>> peak_memory_bytes;
  std::optional<LossFigures> loss;
  std::vector<Issue> issues;
};

// Ratios of step time per sample; efficiency = samples/s over devices times single's samples/s.
struct Comparison {
  std::optional<Estimate> dp_over_single, ddp_over_single, ddp_over_dp, ddp_efficiency,
      dp_efficiency;
};

enum class Severity : std::uint8_t { info, warning, critical };

struct Metric {
  std::string id;
  double value = 0;
  std::string unit;
};

struct Finding {
  std::string id;    // "D1"
  std::string code;  // permanent, kebab-case
  std::string strategy;
  Severity severity = Severity::info;
  std::string claim;
  std::string advice;
  std::optional<double> ms_per_step, predicted_step_ms;
  std::vector<Metric> evidence;
};

struct Unjudged {
  std::string id;
  std::string code;
  std::string why;
};

struct Diagnosis {
  ToolInfo tool;
  WorkloadInfo workload;
  MachineInfo machine;
  std::vector<StrategyDiagnosis> strategies;  // single, dp, ddp, then others by name
  Comparison comparison;
  std::vector<Finding> findings;
  std::vector<Unjudged> unjudged;
  std::string verdict;
};

}  // namespace ddpprof

#include "tools/compare/options.h"

#include "profiler/trace/error.h"
#include "tools/compare/devices.h"
#include "tools/launcher/link.h"
#include "trainers/common/faults.h"
#include "trainers/workloads/table.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpprof {
namespace {

constexpr std::array<std::string_view, 3> kStrategies = {"single", "dp", "ddp"};
constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "fp64", "bf16", "fp16"};
// A model of a size that is trained on GPUs there; one that trains in seconds on a CPU.
constexpr const char* kGpuWorkload = "bert-base";
constexpr const char* kCpuWorkload = "digits-mlp";
// Even, so that each order of turns comes up equally often.
constexpr std::int64_t kDefaultRounds = 6;
// Recording more steps a round than this only makes the traces longer.
constexpr std::int64_t kMostRecordedSteps = 100;

void require_positive(std::string_view flag, const std::optional<std::int64_t>& value) {
  if (value && *value < 1) {
    throw UsageError(fmt::format("{} {}", flag, *value), "must be at least 1");
  }
}

std::vector<std::string> checked_strategies(const std::vector<std::string>& asked) {
  std::vector<std::string> chosen;
  for (const std::string_view known : kStrategies) {
    if (std::ranges::find(asked, known) != asked.end()) chosen.emplace_back(known);
  }
  for (const std::string& key : asked) {
    if (std::ranges::find(kStrategies, key) == kStrategies.end()) {
      throw UsageError("--strategies " + key, "unknown strategy",
                       fmt::format("known are {}", fmt::join(kStrategies, ", ")));
    }
  }
  if (chosen.empty()) throw UsageError("--strategies", "names no strategy");
  return chosen;
}

void require_one_of(std::string_view flag, const std::optional<std::string>& value,
                    std::initializer_list<std::string_view> known) {
  if (!value || std::ranges::find(known, *value) != known.end()) return;
  throw UsageError(fmt::format("{} {}", flag, *value), "unknown value",
                   fmt::format("known are {}", fmt::join(known, ", ")));
}

// What only GPUs have.
void check_gpu_flags(const CompareOptions& options, const std::string& why_cpu) {
  const std::string hint = why_cpu + ", so this compares on the CPU; leave the flag out";
  if (options.dp_autocast) throw UsageError("--dp-autocast", "is for GPUs alone", hint);
  if (options.recorder) throw UsageError("--recorder", "is for GPUs alone", hint);
  if (options.no_cudnn_attention)
    throw UsageError("--no-cudnn-attention", "is for GPUs alone", hint);
  if (options.link) throw UsageError("--link", "is for GPUs alone", hint);
}

const WorkloadRow& row_of(const std::string& workload) {
  const WorkloadRow* row = find_workload_row(workload);
  if (row == nullptr) {
    throw UsageError("--workload " + workload, "unknown workload", "known are " + workload_names());
  }
  return *row;
}

std::int64_t checked_batch(const CompareOptions& options, const WorkloadRow& row,
                           const DeviceChoice& choice) {
  const std::int64_t devices = choice.count;
  const std::int64_t batch = options.batch.value_or(row.defaults.batch);
  const auto samples = row.defaults.samples_count;
  if (samples && devices > *samples) {
    throw UsageError(fmt::format("{} {}", choice.on_gpus ? "--gpus" : "--workers", devices),
                     fmt::format("{} has only {} samples", row.name, *samples));
  }
  if (samples && batch > *samples) {
    throw UsageError(fmt::format("--batch {}", batch),
                     fmt::format("{} has only {} samples", row.name, *samples),
                     fmt::format("use at most {}", *samples));
  }
  const std::int64_t parts = devices * options.micro_steps.value_or(1);
  if (batch % parts == 0) return batch;
  const std::int64_t below = batch / parts * parts, above = below + parts;
  const bool above_fits = !samples || above <= *samples;
  std::string near = below > 0 ? fmt::format("--batch {}", below) : "";
  if (above_fits) near += (near.empty() ? "" : " or ") + fmt::format("--batch {}", above);
  throw UsageError(
      fmt::format("batch of {}", batch),
      parts == devices ? fmt::format("does not divide evenly over {} devices", devices)
                       : fmt::format("does not divide evenly over {} devices x {} micro-steps",
                                     devices, parts / devices),
      "every device must get the same number of samples, or the strategies would not compute the "
      "same gradient; use " +
          near);
}

std::string checked_precision(const CompareOptions& options, const WorkloadRow& row, bool on_gpus,
                              std::vector<std::string>& notes) {
  if (options.precision) return *options.precision;
  if (on_gpus) return std::string(row.defaults.precision);
  if (row.defaults.precision != "fp32") {
    notes.push_back(fmt::format("{} trains in {} on a GPU; on the CPU it takes fp32.", row.name,
                                row.defaults.precision));
  }
  return "fp32";
}

std::vector<StrategyPlan> strategy_plans(const CompareOptions& options, std::int32_t devices) {
  std::vector<StrategyPlan> plans;
  for (const std::string& key : checked_strategies(options.strategies)) {
    plans.push_back({.key = key,
                     .processes = key == "ddp" ? devices : 1,
                     .devices = key == "single" ? 1 : devices});
  }
  return plans;
}

std::vector<std::string> cpu_notes(const ComparePlan& plan, const std::string& why_cpu,
                                   std::int64_t cpus) {
  std::vector<std::string> notes;
  notes.push_back(fmt::format("{}: comparing on the CPU, a device being {} of {} cores.", why_cpu,
                              plan.threads == 1 ? "one" : fmt::format("{}", plan.threads), cpus));
  if (plan.devices * plan.threads > cpus) {
    notes.push_back(fmt::format(
        "{} devices of {} thread{} share {} core{}: they take turns, and waiting for a core is "
        "shown as stall.",
        plan.devices, plan.threads, plan.threads == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s"));
  }
  return notes;
}

class Arguments {
 public:
  template <typename T>
  void add(std::string_view flag, const std::optional<T>& value) {
    if (!value) return;
    list.emplace_back(flag);
    list.push_back(fmt::format("{}", *value));
  }
  void add_if(bool on, std::string_view flag) {
    if (on) list.emplace_back(flag);
  }

  std::vector<std::string> list;
};

std::vector<std::string> trainer_arguments(const CompareOptions& options, const ComparePlan& plan,
                                           const std::string& precision) {
  Arguments arguments;
  arguments.add("--workload", std::optional(plan.workload));
  arguments.add("--layers", options.layers);
  arguments.add("--width", options.width);
  arguments.add("--seq", options.seq);
  arguments.add("--vocab", options.vocab);
  arguments.add("--dropout", options.dropout);
  arguments.add("--batch", std::optional(plan.global_batch));
  arguments.add("--micro-steps", options.micro_steps);
  arguments.add("--precision", std::optional(precision));
  arguments.add("--seed", std::optional(options.seed));
  arguments.add("--workers", std::optional(plan.devices));
  arguments.add("--threads", std::optional(plan.threads));
  arguments.add("--warmup", std::optional(plan.warmup));
  arguments.add("--bucket-cap-mb", options.bucket_cap_mb);
  arguments.add("--first-bucket-mb", options.first_bucket_mb);
  arguments.add_if(options.gradient_as_bucket_view, "--gradient-as-bucket-view");
  arguments.add_if(options.static_graph, "--static-graph");
  arguments.add_if(options.find_unused_parameters, "--find-unused-parameters");
  arguments.add_if(options.no_broadcast_buffers, "--no-broadcast-buffers");
  arguments.add("--dp-threads", options.dp_threads);
  arguments.add("--dp-autocast", options.dp_autocast);
  arguments.add("--recorder", options.recorder);
  arguments.add_if(options.no_cudnn_attention, "--no-cudnn-attention");
  // Longer than ours: who is silent is told here, where all ranks are seen.
  arguments.add("--timeout", std::optional(2 * options.timeout_s + 10));
  return std::move(arguments.list);
}

}  // namespace

void check_usage(const CompareOptions& options) {
  if (options.workload) row_of(*options.workload);
  checked_strategies(options.strategies);
  check_device_flags(options);
  for (const auto& [flag, value] : {std::pair{"--steps", options.steps},
                                    {"--rounds", options.rounds},
                                    {"--threads", options.threads},
                                    {"--batch", options.batch},
                                    {"--micro-steps", options.micro_steps}}) {
    require_positive(flag, value);
  }
  for (const auto& [flag, value] : {std::pair{"--bucket-cap-mb", options.bucket_cap_mb},
                                    {"--first-bucket-mb", options.first_bucket_mb}}) {
    if (value && !(*value > 0)) {
      throw UsageError(fmt::format("{} {}", flag, *value), "must be more than 0 MB");
    }
  }
  if (options.dropout && !(*options.dropout >= 0 && *options.dropout < 1)) {
    throw UsageError(fmt::format("--dropout {}", *options.dropout),
                     "must be at least 0 and below 1");
  }
  if (options.precision &&
      std::ranges::find(kPrecisions, *options.precision) == kPrecisions.end()) {
    throw UsageError("--precision " + *options.precision, "unknown precision",
                     fmt::format("known are {}", fmt::join(kPrecisions, ", ")));
  }
  if (options.precision == "fp16") {
    throw UsageError("--precision fp16", "needs loss scaling, which this version has not",
                     "take fp32 or bf16");
  }
  require_one_of("--dp-threads", options.dp_threads, {"fresh", "pool"});
  require_one_of("--dp-autocast", options.dp_autocast, {"caller", "pytorch"});
  require_one_of("--recorder", options.recorder, {"auto", "cupti", "events"});
  if (options.warmup && *options.warmup < 0) {
    throw UsageError(fmt::format("--warmup {}", *options.warmup), "must not be negative");
  }
  if (!(options.timeout_s > 0)) throw UsageError("--timeout", "must be more than 0 seconds");
}

ComparePlan plan_compare(const CompareOptions& options, const Offer& offer) {
  check_usage(options);
  const DeviceChoice choice = choose_devices(options, offer);
  if (!choice.on_gpus) check_gpu_flags(options, choice.why_cpu);

  ComparePlan plan;
  plan.on_gpus = choice.on_gpus;
  plan.devices = choice.count;
  plan.workload = options.workload.value_or(plan.on_gpus ? kGpuWorkload : kCpuWorkload);
  const WorkloadRow& row = row_of(plan.workload);
  if (options.seq && !row.defaults.sequence_length) {
    throw UsageError("--seq", plan.workload + " has no sequences");
  }
  if (options.vocab && !row.defaults.vocabulary) {
    throw UsageError("--vocab", plan.workload + " has no vocabulary");
  }
  plan.global_batch = checked_batch(options, row, choice);
  plan.threads = options.threads.value_or(std::max<std::int64_t>(1, offer.cpus / plan.devices));
  plan.steps = options.steps.value_or(row.defaults.compare_steps);
  plan.rounds = options.rounds.value_or(kDefaultRounds);
  plan.warmup = options.warmup.value_or(plan.on_gpus ? row.defaults.compare_warmup_on_gpus
                                                     : row.defaults.compare_warmup);
  plan.recorded_steps = std::min(plan.steps, kMostRecordedSteps);
  const auto devices = static_cast<std::int32_t>(plan.devices);
  plan.strategies = strategy_plans(options, devices);
  plan.notes =
      plan.on_gpus ? gpu_notes(options, offer, plan) : cpu_notes(plan, choice.why_cpu, offer.cpus);
  const std::string precision = checked_precision(options, row, plan.on_gpus, plan.notes);
  plan.arguments = trainer_arguments(options, plan, precision);
  if (options.link) {
    plan.link = options.link;
    plan.link_environment = chosen_link(*options.link, plan.devices, offer.nccl_variables);
    plan.notes.push_back(
        fmt::format("NCCL's link: {} (--link {}).", link_text(*options.link), *options.link));
  }
  plan.fault = options.fault;
  if (plan.fault) {
    plan.fault_rank = parse_fault(*plan.fault, devices).rank;
    plan.notes.push_back("Planted fault: " + *plan.fault + ".");
  }
  return plan;
}

}  // namespace ddpprof

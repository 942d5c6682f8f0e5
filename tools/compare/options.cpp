#include "tools/compare/options.h"

#include "profiler/trace/error.h"
#include "trainers/common/faults.h"
#include "trainers/workloads/table.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpprof {
namespace {

constexpr std::array<std::string_view, 3> kStrategies = {"single", "dp", "ddp"};
constexpr std::int64_t kDefaultWorkers = 2;
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

bool is_on_gpus(const CompareOptions& options) { return options.gpus || options.device == "cuda"; }

// How many devices, and proof that they are there.
std::int64_t chosen_devices(const CompareOptions& options, const Offer& offer) {
  if (options.device && *options.device != "cpu" && *options.device != "cuda") {
    throw UsageError("--device " + *options.device, "unknown device", "known are cpu, cuda");
  }
  if (options.gpus && options.device == "cpu") {
    throw UsageError("--gpus", "contradicts --device cpu", "use --workers N with --device cpu");
  }
  if (options.gpus && options.workers) {
    throw UsageError("--workers", "is for the CPU and contradicts --gpus");
  }
  require_positive("--gpus", options.gpus);
  require_positive("--workers", options.workers);
  if (!is_on_gpus(options)) return options.workers.value_or(kDefaultWorkers);
  const std::int64_t asked = options.gpus.value_or(kDefaultWorkers);
  const std::string subject =
      options.gpus ? fmt::format("--gpus {}", asked) : std::string("--device cuda");
  if (offer.gpus < asked) {
    const std::string problem = offer.gpus == 0
                                    ? std::string("this machine shows no NVIDIA GPU")
                                    : fmt::format("this machine has {} NVIDIA GPU{}", offer.gpus,
                                                  offer.gpus == 1 ? "" : "s");
    throw Error(subject, problem,
                offer.gpus == 0 ? "to compare on the CPU: --device cpu --workers 2; if there are "
                                  "GPUs, check that nvidia-smi lists them"
                                : "ask for fewer, or compare on the CPU: --device cpu --workers 2");
  }
  if (!offer.has_cuda_trainer) {
    throw Error(subject, "this build of ddpprof has no trainer for GPUs (ddpprof-train-cuda)",
                "to compare on the CPU: --device cpu --workers 2");
  }
  return asked;
}

std::int64_t checked_batch(const CompareOptions& options, const WorkloadRow& row,
                           std::int64_t devices) {
  require_positive("--batch", options.batch);
  require_positive("--micro-steps", options.micro_steps);
  const std::int64_t batch = options.batch.value_or(row.defaults.batch);
  const auto samples = row.defaults.samples_count;
  if (samples && devices > *samples) {
    throw UsageError(fmt::format("--workers {}", devices),
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

std::string checked_precision(const CompareOptions& options, const WorkloadRow& row,
                              std::vector<std::string>& notes) {
  constexpr std::array<std::string_view, 4> kPrecisions = {"fp32", "fp64", "bf16", "fp16"};
  if (options.precision) {
    if (std::ranges::find(kPrecisions, *options.precision) == kPrecisions.end()) {
      throw UsageError("--precision " + *options.precision, "unknown precision",
                       fmt::format("known are {}", fmt::join(kPrecisions, ", ")));
    }
    if (*options.precision == "fp16" && !is_on_gpus(options)) {
      throw UsageError("--precision fp16", "is not available on a CPU",
                       "use --precision fp32 or bf16");
    }
    return *options.precision;
  }
  if (is_on_gpus(options)) return std::string(row.defaults.precision);
  if (row.defaults.precision != "fp32") {
    notes.push_back(fmt::format("{} trains in {} on a GPU; on the CPU it takes fp32.", row.name,
                                row.defaults.precision));
  }
  return "fp32";
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

}  // namespace

ComparePlan plan_compare(const CompareOptions& options, const Offer& offer) {
  ComparePlan plan;
  const std::string workload = options.workload.value_or("digits-mlp");
  const WorkloadRow* row = find_workload_row(workload);
  if (row == nullptr) {
    throw UsageError("--workload " + workload, "unknown workload", "known are " + workload_names());
  }
  const std::vector<std::string> strategies = checked_strategies(options.strategies);
  for (const auto& [flag, value] : {std::pair{"--steps", options.steps},
                                    {"--rounds", options.rounds},
                                    {"--threads", options.threads}}) {
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
  if (options.seq && !row->defaults.sequence_length) {
    throw UsageError("--seq", workload + " has no sequences");
  }
  if (options.vocab && !row->defaults.vocabulary) {
    throw UsageError("--vocab", workload + " has no vocabulary");
  }
  if (options.warmup && *options.warmup < 0) {
    throw UsageError(fmt::format("--warmup {}", *options.warmup), "must not be negative");
  }
  if (!(options.timeout_s > 0)) throw UsageError("--timeout", "must be more than 0 seconds");

  plan.workload = workload;
  plan.devices = chosen_devices(options, offer);
  plan.on_gpus = is_on_gpus(options);
  plan.global_batch = checked_batch(options, *row, plan.devices);
  plan.threads = options.threads.value_or(std::max<std::int64_t>(1, offer.cpus / plan.devices));
  plan.steps = options.steps.value_or(row->defaults.compare_steps);
  plan.rounds = options.rounds.value_or(kDefaultRounds);
  plan.warmup = options.warmup.value_or(row->defaults.compare_warmup);
  plan.recorded_steps = std::min(plan.steps, kMostRecordedSteps);
  const auto devices = static_cast<std::int32_t>(plan.devices);
  for (const std::string& key : strategies) {
    plan.strategies.push_back({.key = key,
                               .processes = key == "ddp" ? devices : 1,
                               .devices = key == "single" ? 1 : devices});
  }
  if (!plan.on_gpus) {
    const std::string why = offer.gpus == 0  ? "No GPU here"
                            : options.device ? "As asked"
                            : offer.has_cuda_trainer
                                ? fmt::format("{} GPUs here (--gpus {})", offer.gpus, offer.gpus)
                                : std::string("This build has no trainer for GPUs");
    plan.notes.push_back(
        fmt::format("{}: comparing on the CPU, a device being {} of {} cores.", why,
                    plan.threads == 1 ? "one" : fmt::format("{}", plan.threads), offer.cpus));
  }
  if (plan.devices * plan.threads > offer.cpus) {
    plan.notes.push_back(fmt::format(
        "{} devices of {} thread{} share {} core{}: they take turns, and waiting for a core is "
        "shown as stall.",
        plan.devices, plan.threads, plan.threads == 1 ? "" : "s", offer.cpus,
        offer.cpus == 1 ? "" : "s"));
  }

  Arguments arguments;
  arguments.add("--workload", std::optional(workload));
  arguments.add("--layers", options.layers);
  arguments.add("--width", options.width);
  arguments.add("--seq", options.seq);
  arguments.add("--vocab", options.vocab);
  arguments.add("--dropout", options.dropout);
  arguments.add("--batch", std::optional(plan.global_batch));
  arguments.add("--micro-steps", options.micro_steps);
  arguments.add("--precision", std::optional(checked_precision(options, *row, plan.notes)));
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
  // Longer than ours: who is silent is told here, where all ranks are seen.
  arguments.add("--timeout", std::optional(2 * options.timeout_s + 10));
  if (options.fault) plan.fault_rank = parse_fault(*options.fault, devices).rank;
  plan.fault = options.fault;
  if (plan.fault) plan.notes.push_back("Planted fault: " + *plan.fault + ".");
  plan.arguments = std::move(arguments.list);
  return plan;
}

}  // namespace ddpprof

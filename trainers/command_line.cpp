#include "trainers/command_line.h"

#include "ddpprof_version.h"
#include "embedded/train_help_footer.h"
#include "profiler/trace/error.h"
#include "trainers/choose_word.h"
#include "trainers/common/trainer_kind.h"
#include "trainers/update_flags.h"
#include "trainers/workloads/table.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <CLI/CLI.hpp>

namespace ddpprof {
namespace {

std::string see_help() { return "see " + std::string(kTrainerKind.program) + " --help"; }

constexpr std::int64_t kDefaultWorkers = 2;
constexpr std::int64_t kMostLoaderThreads = 256;
constexpr std::int64_t kMostPrefetch = 1024;
constexpr std::int64_t kMostDataCostUs = 1'000'000;
// In the order of the enumerations.
constexpr std::array<std::string_view, 2> kDpThreadsNames = {"fresh", "pool"};
constexpr std::array<std::string_view, 2> kDpAutocastNames = {"caller", "pytorch"};

// What the user typed, before the workload's own values are filled in.
struct Given {
  std::optional<std::int64_t> batch, steps;
  std::optional<std::string> precision;
  std::optional<std::int64_t> workers;
  std::optional<std::int64_t> prefetch, data_cost_us;
  UpdateFlags update;
  std::string dp_threads = "fresh", dp_autocast = "caller";
  std::string recorder = "auto";
  std::optional<std::string> delay;
  bool no_cudnn_attention = false;
  bool no_broadcast_buffers = false;
  bool no_no_sync = false;
  std::string comm_hook = "none";
  std::string eval = "all";
};

std::string footer() {
  std::string text(embedded::train_help_footer);
  constexpr std::string_view kMark = "{program}";
  for (auto at = text.find(kMark); at != std::string::npos; at = text.find(kMark)) {
    text.replace(at, kMark.size(), kTrainerKind.program);
  }
  return text;
}

void add_training_options(CLI::App& app, TrainOptions& options, Given& given) {
  WorkloadOptions& workload = options.workload_options;
  constexpr const char* kGroup = "What is trained";
  app.add_option("--strategy", options.strategy, "single, dp or ddp")->group(kGroup);
  app.add_option("--workload", options.workload, "One of: " + workload_names())->group(kGroup);
  app.add_option("--layers", workload.layers, "Hidden layers")->group(kGroup);
  app.add_option("--width", workload.width, "Their width")->group(kGroup);
  app.add_option("--seq", workload.sequence_length, "Tokens a sample")->group(kGroup);
  app.add_option("--vocab", workload.vocabulary, "Vocabulary")->group(kGroup);
  app.add_option("--dropout", workload.dropout, "Dropout probability, 0 to less than 1")
      ->group(kGroup);
  app.add_option("--seed", workload.seed, "Of parameters, sample order, synthetic data and dropout")
      ->group(kGroup);

  constexpr const char* kHow = "How";
  app.add_option("--batch", given.batch, "Samples an optimizer step, over all devices")
      ->group(kHow);
  app.add_option("--micro-steps", options.micro_steps,
                 "Backward passes an optimizer step (gradient accumulation; ddp: no_sync)")
      ->group(kHow);
  app.add_option("--precision", given.precision, "fp32, fp64, bf16 or, on GPUs, fp16 (autocast)")
      ->group(kHow);
  app.add_option("--steps", given.steps, "Optimizer steps of a stand-alone run")->group(kHow);
  app.add_option("--epochs", options.epochs, "Or: epochs of a stand-alone run")->group(kHow);
  app.add_flag("--cuda-graph", options.cuda_graph,
               "single on a GPU: capture the step once and launch it as a whole")
      ->group(kHow);
  given.update.add_to(app);
}

void add_input_options(CLI::App& app, TrainOptions& options, Given& given) {
  constexpr const char* kGroup = "Input";
  app.add_option("--data", options.workload_options.data,
                 "synthetic: samples made as they are needed, or a safetensors FILE with the "
                 "workload's tensors (default: the workload's own)")
      ->group(kGroup);
  app.add_option("--loader-threads", options.loader.threads,
                 "Threads that fetch batches ahead; the order stays (default 0: the training "
                 "thread fetches)")
      ->group(kGroup);
  app.add_option("--prefetch", given.prefetch,
                 "Micro-batches each of them has ready or in the making (default 2)")
      ->group(kGroup);
  app.add_flag("--pin-memory", options.loader.pin_memory,
               "Who fetches puts batches into pinned memory, and they are copied on a stream of "
               "their own (GPUs)")
      ->group(kGroup);
  app.add_option("--data-cost-us", given.data_cost_us,
                 "Microseconds of CPU time that fetching a training sample takes more, in a busy "
                 "loop, as decoding would (default 0)")
      ->group(kGroup);
}

void add_parallel_options(CLI::App& app, TrainOptions& options, Given& given) {
  constexpr const char* kGroup = "Devices";
  app.add_option("--workers", given.workers, "Devices of dp (default 2)")->group(kGroup);
  if (!kTrainerKind.devices_are_threads) {
    app.add_option("--devices", options.devices,
                   "GPUs by number, one a device of this host (default 0,1,...)")
        ->delimiter(',')
        ->group(kGroup);
    app.add_flag("--no-cudnn-attention", given.no_cudnn_attention,
                 "Attention by PyTorch's own kernels, not cuDNN's")
        ->group(kGroup);
    app.add_flag("--probe", options.probe, "Print a line of JSON about the GPUs, and leave")
        ->group(kGroup);
  }
  app.add_option("--threads", options.threads,
                 "Intra-op threads a device (default: cores / devices)")
      ->group(kGroup);
  app.add_option("--timeout", options.timeout_s,
                 "Seconds until a collective, or meeting the other ranks, fails (default 60)")
      ->group(kGroup);

  constexpr const char* kDp = "DataParallel";
  app.add_option("--dp-threads", given.dp_threads,
                 "Replicas run on fresh threads every time, as PyTorch's do, or on a pool")
      ->group(kDp);
  if (!kTrainerKind.devices_are_threads) {
    app.add_option("--dp-autocast", given.dp_autocast,
                   "Replicas compute in the caller's type, or, as PyTorch's threads do, in fp16")
        ->group(kDp);
  }

  ReducerOptions& reducer = options.reducer;
  constexpr const char* kDdp = "DistributedDataParallel";
  app.add_option("--bucket-cap-mb", reducer.bucket_cap_mb, "MiB of gradients a bucket (default 25)")
      ->group(kDdp);
  app.add_option("--first-bucket-mb", reducer.first_bucket_mb,
                 "MiB of the first bucket (default 1, or --bucket-cap-mb where given)")
      ->group(kDdp);
  app.add_flag("--gradient-as-bucket-view", reducer.gradient_as_bucket_view,
               "Gradients live in the buckets: no copy back")
      ->group(kDdp);
  app.add_flag("--static-graph", reducer.static_graph, "The graph is the same in every step")
      ->group(kDdp);
  app.add_flag("--find-unused-parameters", reducer.find_unused_parameters,
               "Search the graph for parameters without a gradient, every step")
      ->group(kDdp);
  app.add_flag("--no-no-sync", given.no_no_sync,
               "All-reduce after every micro-step, not only after the last: to see what that costs")
      ->group(kDdp);
  app.add_option("--comm-hook", given.comm_hook,
                 "Gradients travel in: none (their own), fp16, bf16")
      ->group(kDdp);
  app.add_flag("--no-broadcast-buffers", given.no_broadcast_buffers,
               "Do not copy rank 0's buffers to all ranks before each forward")
      ->group(kDdp);
}

void add_output_options(CLI::App& app, TrainOptions& options, Given& given) {
  constexpr const char* kGroup = "Output";
  app.add_option("--trace", options.trace, "Record, and write the trace of this process")
      ->group(kGroup);
  if (!kTrainerKind.devices_are_threads) {
    app.add_option("--recorder", given.recorder,
                   "What sees the GPUs: cupti, events (phases alone), or auto: cupti if it may")
        ->group(kGroup);
  }
  app.add_option("--metrics", options.metrics,
                 "Write a JSON line {step, loss, learning_rate} a step")
      ->group(kGroup);
  app.add_option("--eval", given.eval,
                 "Test samples are looked at by all ranks, or by rank0 while the others wait")
      ->group(kGroup);
  app.add_option("--eval-every", options.eval_every,
                 "Optimizer steps from one look to the next (default: at the end alone)")
      ->group(kGroup);
  app.add_option("--checkpoint", options.checkpoint,
                 "Write the training's state, a safetensors file, at the end")
      ->group(kGroup);
  app.add_option("--checkpoint-every", options.checkpoint_every,
                 "And in its place every so many optimizer steps")
      ->group(kGroup);
  app.add_option("--resume", options.resume, "Go on from such a file")->group(kGroup);
  app.add_option("--gradients", options.gradients,
                 "Write gradients and parameters of every step into this folder, as raw doubles")
      ->group(kGroup);
  constexpr const char* kControl = "For ddpprof compare and tests";
  app.add_option("--control-fd", options.control_fd, "Take orders from this descriptor")
      ->group(kControl);
  app.add_option("--warmup", options.warmup, "Steps before the first order (default 5)")
      ->group(kControl);
  app.add_option("--fault", options.fault, "Plant a fault: NAME or NAME:RANK")->group(kControl);
  app.add_option("--delay", given.delay,
                 "Plant a delay: PHASE:host|device:MICROSECONDS[:every=N][:control], in every "
                 "second step or every Nth; with control in the others, too, but in no phase. "
                 "PHASE: data, scatter, replicate, forward, backward, all_reduce or optimizer, "
                 "where the strategy has it")
      ->group(kControl);
}

void need_positive(const char* flag, std::optional<std::int64_t> value) {
  if (value && *value < 1) {
    throw UsageError(std::string(flag) + " " + std::to_string(*value), "must be at least 1",
                     see_help());
  }
}

void need_range(const char* flag, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) {
    throw UsageError(std::string(flag) + " " + std::to_string(value),
                     "is not from " + std::to_string(low) + " to " + std::to_string(high),
                     see_help());
  }
}

void check_input_ranges(const TrainOptions& options, const Given& given) {
  need_range("--loader-threads", options.loader.threads, 0, kMostLoaderThreads);
  need_range("--data-cost-us", given.data_cost_us.value_or(0), 0, kMostDataCostUs);
  if (given.prefetch) {
    need_range("--prefetch", *given.prefetch, 1, kMostPrefetch);
    if (options.loader.threads == 0) {
      throw UsageError("--prefetch", "needs threads that fetch ahead",
                       "add --loader-threads 1, or leave it out");
    }
  }
  if (options.loader.pin_memory && kTrainerKind.devices_are_threads) {
    throw UsageError("--pin-memory", "is for copies to a GPU, and this trainer has none",
                     "leave it out: on a CPU batches are used where they were made");
  }
}

void check_ranges(const TrainOptions& options, const Given& given) {
  need_positive("--batch", given.batch);
  need_positive("--micro-steps", options.micro_steps);
  need_positive("--workers", given.workers);
  need_positive("--threads", options.threads);
  need_positive("--steps", given.steps);
  need_positive("--epochs", options.epochs);
  need_positive("--eval-every", options.eval_every);
  need_positive("--checkpoint-every", options.checkpoint_every);
  if (options.checkpoint_every && options.checkpoint.empty()) {
    throw UsageError("--checkpoint-every", "does not say where to", "add --checkpoint FILE");
  }
  if (given.steps && options.epochs) {
    throw UsageError("--epochs", "cannot be given together with --steps", "leave one of them out");
  }
  check_input_ranges(options, given);
  if (options.warmup < 0) {
    throw UsageError("--warmup", "must not be negative", see_help());
  }
  if (!(options.timeout_s > 0)) {
    throw UsageError("--timeout", "must be positive", "give seconds, such as --timeout 60");
  }
  for (const auto& megabytes : {options.reducer.bucket_cap_mb, options.reducer.first_bucket_mb}) {
    if (megabytes && !(*megabytes > 0)) {
      throw UsageError("--bucket-cap-mb, --first-bucket-mb", "must be positive",
                       "PyTorch's values are 25 and 1");
    }
  }
}

Precision choose_precision(const WorkloadRow& row, const Given& given,
                           std::vector<std::string>& notes) {
  const std::string name = given.precision.value_or(std::string(row.defaults.precision));
  const auto* const found = std::ranges::find(kPrecisionNames, name);
  if (found == std::end(kPrecisionNames)) {
    throw UsageError("--precision " + name, "there is no such precision",
                     "take fp32, fp64, bf16 or fp16");
  }
  const auto precision = static_cast<Precision>(found - std::begin(kPrecisionNames));
  if (given.precision && precision == Precision::fp16 && kTrainerKind.devices_are_threads) {
    throw UsageError("--precision fp16", "is for GPUs: most operators have no fast fp16 on a CPU",
                     "take fp32 or bf16");
  }
  if (!given.precision && precision != Precision::fp32 && kTrainerKind.devices_are_threads) {
    notes.push_back(std::string(row.name) + " trains in " + name +
                    " on a GPU; on this CPU it trains in fp32");
    return Precision::fp32;
  }
  return precision;
}

void fill_in_devices(TrainOptions& options, const Given& given) {
  const auto named = static_cast<std::int64_t>(options.devices.size());
  options.workers = given.workers.value_or(named > 0 ? named : kDefaultWorkers);
  options.cudnn_attention = !given.no_cudnn_attention;
  options.dp_threads = choose_word<DpThreads>("--dp-threads", given.dp_threads, kDpThreadsNames);
  options.dp_autocast =
      choose_word<DpAutocast>("--dp-autocast", given.dp_autocast, kDpAutocastNames);
  options.recorder =
      choose_word<RecorderChoice>("--recorder", given.recorder, kRecorderChoiceNames);
}

void fill_in_loader(TrainOptions& options, const Given& given) {
  options.loader.prefetch = given.prefetch.value_or(options.loader.prefetch);
  options.loader.cost_ns = given.data_cost_us.value_or(0) * 1000;
  if (options.loader.cost_ns > 0) {
    options.notes.push_back("fetching a sample costs " + std::to_string(*given.data_cost_us) +
                            " us of CPU time on purpose");
  }
}

// A graph is launched as it was captured: what the host decides or does in a step is not in it.
void check_graph(const TrainOptions& options) {
  if (!options.cuda_graph) {
    return;
  }
  const auto refuse = [](const std::string& problem, const std::string& hint) {
    throw UsageError("--cuda-graph", problem, hint);
  };
  if (kTrainerKind.devices_are_threads) {
    refuse("needs a GPU", "ddpprof-train-cuda is the trainer for GPUs");
  }
  if (options.strategy != "single") {
    refuse(
        "is for --strategy single: dp's threads and ddp's Reducer work on the host in every step",
        "leave it out");
  }
  if (options.optimizer.kind == OptimizerKind::foreach_adamw ||
      options.optimizer.kind == OptimizerKind::foreach_sgd) {
    refuse("needs an optimizer that does not wait for the device", "take a fused one");
  }
  if (!options.gradients.empty() || options.delay || !options.fault.empty()) {
    refuse("cannot be with --gradients, --delay or --fault, which act on the host",
           "leave one out");
  }
}

void fill_in_defaults(CommandLine& line, const Given& given) {
  TrainOptions& options = line.options;
  const WorkloadRow* row = find_workload_row(options.workload);
  if (row == nullptr) {
    throw UsageError("--workload " + options.workload, "there is no such workload",
                     "workloads: " + workload_names());
  }
  options.batch = given.batch.value_or(row->defaults.batch);
  options.steps = given.steps.value_or(row->defaults.steps);
  options.precision = choose_precision(*row, given, options.notes);
  given.update.fill_in(row->defaults, options);
  options.eval = choose_word<EvalMode>("--eval", given.eval, kEvalNames);
  options.reducer.broadcast_buffers = !given.no_broadcast_buffers;
  options.reducer.no_sync = !given.no_no_sync;
  options.reducer.comm_hook = choose_word<CommHook>("--comm-hook", given.comm_hook, kCommHookNames);
  if (given.delay) {
    options.delay = parse_delay(*given.delay);
    options.notes.push_back("a delay is planted: " + *given.delay);
  }
  check_graph(options);
  fill_in_loader(options, given);
  fill_in_devices(options, given);
}

}  // namespace

CommandLine parse_command_line(std::vector<std::string> arguments) {
  CommandLine line;
  Given given;
  CLI::App app(
      "Trains one workload on one device, by DataParallel or by "
      "DistributedDataParallel, and records where the time of its steps goes.",
      std::string(kTrainerKind.program));
  app.footer(footer());
  bool show_version = false;
  app.add_flag("--version", show_version, "Print the version and leave");
  add_training_options(app, line.options, given);
  add_input_options(app, line.options, given);
  add_parallel_options(app, line.options, given);
  add_output_options(app, line.options, given);
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    return line;
  } catch (const CLI::ParseError& error) {
    throw UsageError("command line", error.what(), see_help());
  }
  if (show_version) {
    line.text = std::string(kTrainerKind.program) + " " + std::string(kVersion) + " (" +
                std::string(kCommit) + ")\n";
    return line;
  }
  check_ranges(line.options, given);
  fill_in_defaults(line, given);
  return line;
}

}  // namespace ddpprof

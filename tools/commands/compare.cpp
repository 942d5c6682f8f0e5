#include "tools/commands/compare.h"

#include "ddpprof_version.h"
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "profiler/trace/error.h"
#include "reports/json.h"
#include "reports/numbers.h"
#include "reports/terminal.h"
#include "tools/compare/offer.h"
#include "tools/compare/options.h"
#include "tools/compare/turns.h"
#include "tools/launcher/crew.h"
#include "tools/machine.h"
#include "tools/print.h"
#include "tools/run_directory.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

void read_traces(const RunDirectory& directory, RunRecord& record) {
  for (std::size_t i = 0; i < record.input.strategies.size(); ++i) {
    for (const std::string& file : record.files[i].traces) {
      const fs::path path = directory.file(file);
      record.input.strategies[i].run.ranks.push_back(read_native(read_file(path), path.string()));
    }
  }
}

void write_results(const CompareOptions& options, const RunDirectory& directory,
                   const RunRecord& record, const Diagnosis& diagnosis) {
  const std::string json = report_json(diagnosis);
  const std::string table = terminal_report(diagnosis);
  write_file(directory.file("report.json"), json);
  write_file(directory.file("run.json"), run_json(record));  // last: its presence means a whole run
  const bool json_to_stdout = options.json == "-";
  if (options.json && !json_to_stdout) write_file(*options.json, json);
  print_result(json_to_stdout
                   ? json
                   : table + fmt::format("\nrun: {} (report.json, traces/ for Perfetto or "
                                         "chrome://tracing, logs/)\n",
                                         directory.path().string()));
}

// Before anything runs: a report that cannot be written in the end helps nobody.
void check_json_target(const CompareOptions& options) {
  if (!options.json || *options.json == "-") return;
  const fs::path path = *options.json;
  if (fs::is_directory(path)) throw Error(path.string(), "is a folder", "name a file");
  if (fs::exists(path) && !options.force) {
    throw Error(path.string(), "already exists", "overwrite it with --force");
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder)) throw Error(folder.string(), "there is no such folder");
}

std::string on_gpus_text(const ComparePlan& plan) {
  if (!plan.on_gpus) return "";
  return fmt::format(" on {} GPU{}", plan.devices, plan.devices == 1 ? "" : "s");
}

int run_compare(const CompareOptions& options, const Surroundings& surroundings) {
  check_usage(options);
  Progress progress(stderr, surroundings.stderr_is_terminal, options.quiet);
  const Offer offer =
      find_offer(options, {.program_folder = surroundings.program_folder,
                           .visible_devices = surroundings.cuda_visible_devices,
                           .nccl_variables = surroundings.nccl_variables,
                           .on_probe = [&] { progress.show("looking at the GPUs"); }});
  const ComparePlan plan = plan_compare(options, offer);
  check_json_target(options);
  const fs::path out =
      options.out.empty()
          ? fs::path("ddpprof-runs") / (file_time(surroundings.unix_seconds) + "-" + plan.workload)
          : fs::path(options.out);
  RunDirectory directory(out, options.force);
  for (const std::string& note : plan.notes) progress.say(note);
  progress.say(fmt::format(
      "{}{}, global batch {}: {} rounds of {} steps a strategy, and {} recorded.", plan.workload,
      on_gpus_text(plan), plan.global_batch, plan.rounds, plan.steps, plan.recorded_steps));
  const TurnsSetting setting{
      .trainer = surroundings.program_folder / (plan.on_gpus ? kCudaTrainer : kTrainer),
      .isolate = options.isolate,
      .silence_limit =
          std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_s * 1e3)),
      .now_ns = surroundings.now_ns};
  const std::int64_t begin_ns = surroundings.now_ns();
  RunRecord record = [&] {
    const InterruptScope interruptible;
    try {
      return run_in_turns(plan, setting, directory, progress);
    } catch (const UsageError&) {
      directory.discard();  // nothing was run
      throw;
    }
  }();
  record.started = iso_time(surroundings.unix_seconds);
  record.command = surroundings.command_line;
  MachineInfo machine = describe_machine(plan, offer);
  machine.torch = record.input.machine.torch;  // of the trainers that ran
  record.input.machine = std::move(machine);
  record.input.tool = {std::string(kVersion), std::string(kCommit)};
  read_traces(directory, record);
  const Diagnosis diagnosis = diagnose(record.input);
  const double seconds = static_cast<double>(surroundings.now_ns() - begin_ns) / 1e9;
  progress.say(fmt::format("measured in {}\n", duration_text(seconds)));
  write_results(options, directory, record, diagnosis);
  return 0;
}

constexpr const char* kManual =
    "Trains one workload on one device, under DataParallel (DP) and under\n"
    "DistributedDataParallel (DDP), and says where the time of a step goes.\n"
    "\n"
    "The trainers are started once, warmed up, and then take turns (A B C, C B A, ...), so that\n"
    "drift of the machine hits all alike. Step times come from steps that are not recorded, the\n"
    "breakdown from recorded ones; the first two steps after each change of turns are not "
    "counted.\n"
    "With two or more GPUs it compares on two of them, or on --gpus N; else it says why not and\n"
    "compares on the CPU: replicas are threads, DDP speaks gloo.";

constexpr const char* kFooter =
    "Examples:\n"
    "  ddpprof compare\n"
    "  ddpprof compare --gpus 2\n"
    "  ddpprof compare --gpus 2 --batch 128 --dp-threads pool --no-cudnn-attention\n"
    "  ddpprof compare --gpus 2 --link socket\n"
    "  ddpprof compare --device cpu --workload bert-base --layers 2 --width 128 --seq 32 --batch "
    "16\n"
    "  ddpprof compare --workers 3 --batch 96 --strategies single,ddp --json report.json\n"
    "\n"
    "Exit codes: 0 fine, 1 failed, 2 wrong usage.\n"
    "Files: DIR/report.json (every figure), DIR/run.json (what was run), DIR/traces (a trace a\n"
    "rank, for Perfetto or chrome://tracing), DIR/logs.";

void add_machine_options(CLI::App& command, CompareOptions& options) {
  const char* group = "Devices";
  command.add_option("--gpus", options.gpus, "Compare on N GPUs; 1 runs all strategies on one [2]")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--device", options.device, "cpu or cuda [cuda where there are two GPUs or more]")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--workers", options.workers, "Compare on the CPU with N devices [2]")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--threads", options.threads,
                  "Threads of operators on the host, a device [cores / devices]")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--link", options.link,
                  "NCCL's way between GPUs: p2p (what it takes by itself), shm or socket")
      ->type_name("NAME")
      ->group(group);
}

void add_workload_options(CLI::App& command, CompareOptions& options) {
  const char* group = "Workload";
  const auto size = [&](const char* flag, auto& value, const char* text) {
    command.add_option(flag, value, text)->type_name("N")->group(group);
  };
  command
      .add_option("--workload", options.workload,
                  "What to train (ddpprof list workloads) [GPUs: bert-base, CPU: digits-mlp]")
      ->type_name("NAME")
      ->group(group);
  size("--batch", options.batch, "Samples an optimizer step, over all devices");
  size("--layers", options.layers, "Layers");
  size("--width", options.width, "Width; heads = max(1, width / 64)");
  size("--seq", options.seq, "Tokens a sample");
  size("--vocab", options.vocab, "Vocabulary");
  size("--micro-steps", options.micro_steps, "Backward passes an optimizer step [1]");
  command.add_option("--dropout", options.dropout, "Dropout")->type_name("P")->group(group);
  command
      .add_option("--precision", options.precision,
                  "fp32, fp64 or bf16 [the workload's; fp32 on a CPU]")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--seed", options.seed, "Seed of parameters and data [1]")
      ->type_name("N")
      ->group(group);
}

void add_dp_options(CLI::App& command, CompareOptions& options) {
  const char* group = "DataParallel and GPUs";
  command
      .add_option("--dp-threads", options.dp_threads,
                  "Replicas' threads: fresh (every forward, as PyTorch does) or pool")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--dp-autocast", options.dp_autocast,
                  "Autocast in replicas' threads: the caller's, or what pytorch sets")
      ->type_name("NAME")
      ->group(group);
  command
      .add_flag("--no-cudnn-attention", options.no_cudnn_attention,
                "Attention without cuDNN, whose plans every thread builds anew")
      ->group(group);
  command
      .add_option("--recorder", options.recorder,
                  "What sees the GPUs: cupti, events (phases alone), or auto: cupti if it may")
      ->type_name("NAME")
      ->group(group);
}

void add_ddp_options(CLI::App& command, CompareOptions& options) {
  const char* group = "DistributedDataParallel";
  command.add_option("--bucket-cap-mb", options.bucket_cap_mb, "Bucket size [25]")
      ->type_name("MB")
      ->group(group);
  command.add_option("--first-bucket-mb", options.first_bucket_mb, "Size of the first bucket [1]")
      ->type_name("MB")
      ->group(group);
  const auto flag = [&](const char* name, bool& value, const char* text) {
    command.add_flag(name, value, text)->group(group);
  };
  flag("--gradient-as-bucket-view", options.gradient_as_bucket_view,
       "Gradients alias their buckets");
  flag("--static-graph", options.static_graph, "The graph never changes");
  flag("--find-unused-parameters", options.find_unused_parameters, "Search the graph every step");
  flag("--no-broadcast-buffers", options.no_broadcast_buffers, "Leave buffers to each rank");
}

void add_measuring_options(CLI::App& command, CompareOptions& options) {
  const char* group = "Measuring";
  command.add_option("--strategies", options.strategies, "Which to compare [single,dp,ddp]")
      ->delimiter(',')
      ->option_text("LIST")
      ->group(group);
  command.add_option("--steps", options.steps, "Measured steps a strategy a round")
      ->type_name("K")
      ->group(group);
  command.add_option("--rounds", options.rounds, "Turns each strategy gets [6]")
      ->type_name("R")
      ->group(group);
  command.add_option("--warmup", options.warmup, "Steps before the first round")
      ->type_name("W")
      ->group(group);
  command.add_flag("--isolate", options.isolate, "One after the other, where memory is short")
      ->group(group);
  command
      .add_option("--timeout", options.timeout_s,
                  "Silence after which a trainer counts as hung [300]")
      ->type_name("S")
      ->group(group);
  command.add_option("--fault", options.fault, "Plant a fault (ddpprof list faults)")
      ->type_name("NAME[:RANK]")
      ->group(group);
}

void add_output_options(CLI::App& command, CompareOptions& options) {
  const char* group = "Output";
  command.add_option("--out", options.out, "The run's folder [ddpprof-runs/TIME-WORKLOAD]")
      ->type_name("DIR")
      ->group(group);
  command.add_flag("--force", options.force, "Overwrite an older run")->group(group);
  command.add_option("--json", options.json, "report.json here, too; - is standard output")
      ->type_name("F")
      ->group(group);
  command.add_flag("--quiet", options.quiet, "No progress")->group(group);
}

void add_compare_flags(CLI::App& command, Action& action) {
  auto options = std::make_shared<CompareOptions>();
  add_machine_options(command, *options);
  add_workload_options(command, *options);
  add_dp_options(command, *options);
  add_ddp_options(command, *options);
  add_measuring_options(command, *options);
  add_output_options(command, *options);
  command.footer(kFooter);
  command.callback([&action, options] {
    action = [options](const Surroundings& surroundings) {
      return run_compare(*options, surroundings);
    };
  });
}

}  // namespace

const CommandRow kCompareCommand = {
    "compare", "Train on one device, under DP and under DDP; say where the step goes", kManual,
    add_compare_flags};

}  // namespace ddpprof

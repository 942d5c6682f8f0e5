#include "tools/commands/train.h"

#include "profiler/trace/error.h"
#include "tools/compare/offer.h"
#include "tools/launcher/answer.h"
#include "tools/machine.h"
#include "tools/progress.h"
#include "tools/train/launch.h"
#include "tools/train/launch_plan.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kGrace{5'000};
constexpr std::chrono::milliseconds kHelpLimit{30'000};

LaunchPlan plan_here(const TrainFlags& flags, const Surroundings& around) {
  Progress progress(stderr, around.stderr_is_terminal, false);
  const Offer offer =
      find_offer(flags, {.program_folder = around.program_folder,
                         .visible_devices = around.cuda_visible_devices,
                         .nccl_variables = around.nccl_variables,
                         .on_probe = [&] { progress.show("looking at the GPUs"); }});
  LaunchPlan plan = plan_launch(flags, offer);
  for (const std::string& note : plan.notes) progress.say(note);
  return plan;
}

int run_train(const TrainFlags& flags, const Surroundings& around) {
  check_usage(flags);
  const LaunchPlan plan = plan_here(flags, around);
  const fs::path trainer = around.program_folder / plan.trainer;
  if (!plan.has_ranks) become_trainer(plan, trainer);
  const RanksOutcome outcome = run_ranks(plan, trainer, kGrace);
  // Rank 0's line of progress may still stand on a terminal.
  const char* const erase = around.stderr_is_terminal ? "\r\033[K" : "";
  if (!outcome.words.empty()) fmt::print(stderr, "{}{}", erase, outcome.words);
  return outcome.exit_code;
}

// The trainer's own manual: its flags are what most of a command line is made of.
std::string trainer_help(const Surroundings& around) {
  const fs::path cuda = around.program_folder / kCudaTrainer;
  const bool on_gpus = count_gpus(OfferSources().driver_folder) > 0 && fs::exists(cuda);
  const fs::path trainer = on_gpus ? cuda : around.program_folder / kTrainer;
  const std::string name = trainer.filename().string();
  if (!fs::exists(trainer)) {
    return fmt::format("\nThe trainer, whose flags these would be, is not built here ({}).\n",
                       name);
  }
  const Answer answer = ask(trainer, "--help", kHelpLimit);
  if (answer.status != 0) {
    return fmt::format("\nThe trainer's flags: {} --help, which fails here.\n", name);
  }
  return fmt::format("\nThe trainer's flags, as {} --help says them:\n\n{}", name, answer.out);
}

constexpr const char* kManual =
    "Trains by one strategy: on one device (single), by DataParallel (dp) or by\n"
    "DistributedDataParallel (ddp), whose processes it starts and ends.\n"
    "\n"
    "With as many GPUs as that takes it trains on them, else it says why not and trains on the\n"
    "CPU. All other flags are the trainer's, which are below, and are passed on to it.\n"
    "With ddp rank 0 has the terminal; when another rank fails, its last lines are shown.";

constexpr const char* kFooter =
    "Examples:\n"
    "  ddpprof train --steps 200\n"
    "  ddpprof train --strategy dp --workers 2 --trace dp.json.gz\n"
    "  ddpprof train --strategy ddp --gpus 2 --workload bert-base --trace 'ddp-{rank}.json.gz'\n"
    "  ddpprof train --strategy ddp --gpus 2 --link shm --steps 100\n"
    "\n"
    "Exit codes: 0 fine, 1 failed, 2 wrong usage, 128 + n ended by signal n.";

void add_train_flags(CLI::App& command, Action& action) {
  auto flags = std::make_shared<TrainFlags>();
  command.add_option("--strategy", flags->strategy, "single, dp or ddp [single]")
      ->type_name("NAME");
  command.add_option("--gpus", flags->gpus, "Train on N GPUs [single: 1, else 2]")->type_name("N");
  command.add_option("--device", flags->device, "cpu or cuda [cuda where there are so many GPUs]")
      ->type_name("NAME");
  command
      .add_option("--workers", flags->workers,
                  "Train on the CPU with N devices [single: 1, else 2]")
      ->type_name("N");
  command
      .add_option("--link", flags->link,
                  "NCCL's way between GPUs: p2p (what it takes by itself), shm or socket")
      ->type_name("NAME");
  command.allow_extras();
  command.footer(kFooter);
  command.callback([&command, &action, flags] {
    flags->trainer_flags = command.remaining();
    action = [flags](const Surroundings& around) { return run_train(*flags, around); };
  });
}

}  // namespace

const CommandRow kTrainCommand = {"train", "Train by one strategy: one device, DP or DDP", kManual,
                                  add_train_flags, trainer_help};

}  // namespace ddpprof

#include "tools/train/launch_plan.h"

#include "profiler/trace/error.h"
#include "tools/compare/devices.h"
#include "tools/compare/offer.h"
#include "tools/launcher/environment.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpprof {
namespace {

constexpr std::array<std::string_view, 3> kStrategies = {"single", "dp", "ddp"};
// A rank listens and speaks: more than ports there are none can be.
constexpr std::int64_t kMostRanks = 1024;

void check_single(const TrainFlags& flags) {
  const char* const hint = "--strategy dp or --strategy ddp trains on several";
  for (const auto& [flag, value] :
       {std::pair{"--gpus", flags.gpus}, {"--workers", flags.workers}}) {
    if (value && *value > 1) {
      throw UsageError(fmt::format("{} {}", flag, *value), "single trains on one device", hint);
    }
  }
  if (flags.link) throw UsageError("--link", "single trains on one device", hint);
}

// Where the user chose no number the trainer's own default is as good, and --devices may say more.
std::vector<std::string> arguments_of(const TrainFlags& flags) {
  std::vector<std::string> arguments = {"--strategy", flags.strategy};
  const auto asked = flags.gpus ? flags.gpus : flags.workers;
  if (flags.strategy == "dp" && asked) {
    arguments.insert(arguments.end(), {"--workers", fmt::format("{}", *asked)});
  }
  arguments.insert(arguments.end(), flags.trainer_flags.begin(), flags.trainer_flags.end());
  return arguments;
}

}  // namespace

void check_usage(const TrainFlags& flags) {
  if (std::ranges::find(kStrategies, flags.strategy) == kStrategies.end()) {
    throw UsageError("--strategy " + flags.strategy, "unknown strategy",
                     fmt::format("known are {}", fmt::join(kStrategies, ", ")));
  }
  check_device_flags(flags);
  if (flags.strategy == "single") check_single(flags);
  if (flags.strategy == "ddp" && flags.workers.value_or(1) > kMostRanks) {
    throw UsageError(fmt::format("--workers {}", *flags.workers),
                     fmt::format("ddp has at most {} processes here", kMostRanks));
  }
}

LaunchPlan plan_launch(const TrainFlags& flags, const Offer& offer) {
  check_usage(flags);
  const DeviceChoice choice =
      choose_devices(flags, offer,
                     {.verb = "train",
                      .third_person = "trains",
                      .default_devices = flags.strategy == "single" ? 1 : 2});
  LaunchPlan plan;
  plan.trainer = choice.on_gpus ? kCudaTrainer : kTrainer;
  plan.arguments = arguments_of(flags);
  if (flags.link) {
    if (!choice.on_gpus) {
      throw UsageError("--link " + *flags.link, "is for GPUs alone",
                       choice.why_cpu +
                           ", so this trains on the CPU, where gloo has one link; "
                           "leave the flag out");
    }
    plan.environment = chosen_link(*flags.link, choice.count, offer.nccl_variables);
  }
  if (!choice.on_gpus && may_take_gpus(flags)) {
    plan.notes.push_back(choice.why_cpu + ": training on the CPU.");
  }
  if (flags.strategy == "ddp") {
    plan.has_ranks = true;
    plan.processes = static_cast<std::int32_t>(choice.count);
    plan.unset = launcher_variables();
    // PyTorch's warnings carry stack traces that bury the message that counts.
    plan.defaults = {{"TORCH_CPP_LOG_LEVEL", "ERROR"}};
  }
  return plan;
}

}  // namespace ddpprof

// What `ddpprof train` would start, on machines with and without GPUs.
#include "tools/train/launch_plan.h"

#include "profiler/trace/error.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

Offer machine(std::int32_t gpus) {
  Offer offer{.gpus = gpus, .cpus = 32, .has_cuda_trainer = true};
  if (gpus > 0) offer.probe.emplace();
  for (std::int32_t i = 0; i < gpus; ++i) {
    offer.probe->devices.push_back(
        {.device = {"NVIDIA H200", 150'754'820'096, i}, .used_bytes = {}, .busy = {}});
  }
  return offer;
}

TrainFlags flags(const std::string& strategy, const Words& trainer_flags = {}) {
  TrainFlags made;
  made.strategy = strategy;
  made.trainer_flags = trainer_flags;
  return made;
}

template <typename E>
std::string refusal(const TrainFlags& asked, const Offer& offer = machine(0)) {
  try {
    plan_launch(asked, offer);
  } catch (const E& error) {
    return error.subject + ": " + error.problem + " | " + error.hint;
  }
  return "accepted";
}

TEST(PlanLaunch, PassesAllOtherFlagsOnInTheirOrder) {
  const LaunchPlan plan = plan_launch(flags("single", {"--steps", "5", "--seed=2"}), machine(0));
  EXPECT_EQ(plan.trainer, "ddpprof-train");
  EXPECT_EQ(plan.arguments, (Words{"--strategy", "single", "--steps", "5", "--seed=2"}));
  EXPECT_FALSE(plan.has_ranks);
  EXPECT_EQ(plan.processes, 1);
  EXPECT_EQ(plan.environment, Variables{});
}

TEST(PlanLaunch, TakesAsManyDevicesAsTheStrategyNeeds) {
  EXPECT_EQ(plan_launch(flags("single"), machine(1)).trainer, "ddpprof-train-cuda");
  EXPECT_EQ(plan_launch(flags("ddp"), machine(2)).trainer, "ddpprof-train-cuda");
  const LaunchPlan one = plan_launch(flags("dp"), machine(1));
  EXPECT_EQ(one.trainer, "ddpprof-train");
  EXPECT_EQ(one.notes, (Words{"One GPU cannot show DP or DDP at work (--gpus 1 trains on it "
                              "anyway): training on the CPU."}));
  EXPECT_EQ(plan_launch(flags("single"), machine(0)).notes,
            (Words{"No GPU here: training on the CPU."}));
}

TEST(PlanLaunch, SaysNothingOfDevicesThatWereAskedFor) {
  TrainFlags cpu = flags("ddp");
  cpu.workers = 3;
  const LaunchPlan plan = plan_launch(cpu, machine(4));
  EXPECT_EQ(plan.trainer, "ddpprof-train");
  EXPECT_EQ(plan.processes, 3);
  EXPECT_EQ(plan.notes, Words{});
}

TEST(PlanLaunch, GivesDpItsDevicesAndDdpItsProcesses) {
  TrainFlags asked = flags("dp");
  asked.gpus = 4;
  const LaunchPlan dp = plan_launch(asked, machine(4));
  EXPECT_EQ(dp.arguments, (Words{"--strategy", "dp", "--workers", "4"}));
  EXPECT_EQ(dp.processes, 1);
  EXPECT_FALSE(dp.has_ranks);
  asked.strategy = "ddp";
  const LaunchPlan ddp = plan_launch(asked, machine(4));
  EXPECT_EQ(ddp.arguments, (Words{"--strategy", "ddp"}));
  EXPECT_EQ(ddp.processes, 4);
  EXPECT_TRUE(ddp.has_ranks);
  EXPECT_NE(std::ranges::find(ddp.unset, "TORCHELASTIC_USE_AGENT_STORE"), ddp.unset.end());
  // The trainer's --devices may name more than two.
  EXPECT_EQ(plan_launch(flags("dp", {"--devices", "0,1,2"}), machine(4)).arguments,
            (Words{"--strategy", "dp", "--devices", "0,1,2"}));
}

TEST(PlanLaunch, OfOneRankIsStillDdp) {
  TrainFlags asked = flags("ddp");
  asked.gpus = 1;
  const LaunchPlan plan = plan_launch(asked, machine(1));
  EXPECT_TRUE(plan.has_ranks);
  EXPECT_EQ(plan.processes, 1);
}

TEST(PlanLaunch, RefusesWhatCannotBe) {
  EXPECT_EQ(refusal<UsageError>(flags("fsdp")),
            "--strategy fsdp: unknown strategy | known are single, dp, ddp");
  TrainFlags asked = flags("single");
  asked.workers = 2;
  EXPECT_NE(refusal<UsageError>(asked).find("--workers 2: single trains on one device"),
            std::string::npos);
  asked = flags("ddp");
  asked.gpus = 0;
  EXPECT_NE(refusal<UsageError>(asked).find("must be at least 1"), std::string::npos);
  asked.gpus = 4;
  EXPECT_NE(refusal<Error>(asked, machine(2)).find("this machine has 2 NVIDIA GPUs"),
            std::string::npos);
  EXPECT_EQ(refusal<Error>(asked),
            "--gpus 4: this machine shows no NVIDIA GPU | to train on the CPU: --device cpu "
            "--workers 2; if there are GPUs, check that nvidia-smi lists them");
  asked = flags("ddp");
  asked.device = "tpu";
  EXPECT_NE(refusal<UsageError>(asked).find("unknown device"), std::string::npos);
  asked = flags("ddp");
  asked.workers = 100'000;
  EXPECT_NE(refusal<UsageError>(asked).find("at most"), std::string::npos);
}

TEST(PlanLaunch, TellsNcclTheLink) {
  for (const char* strategy : {"dp", "ddp"}) {
    TrainFlags asked = flags(strategy);
    asked.link = "shm";
    EXPECT_EQ(plan_launch(asked, machine(2)).environment, (Variables{{"NCCL_P2P_DISABLE", "1"}}));
    asked.link = "p2p";
    EXPECT_EQ(plan_launch(asked, machine(2)).environment, Variables{});
    Offer offer = machine(2);
    offer.nccl_variables = {{"NCCL_P2P_DISABLE", "1"}};
    EXPECT_NE(refusal<UsageError>(asked, offer).find("of the environment forbids it"),
              std::string::npos);
  }
}

TEST(PlanLaunch, RefusesALinkWhereThereIsNone) {
  TrainFlags asked = flags("ddp");
  asked.link = "socket";
  EXPECT_EQ(refusal<UsageError>(asked),
            "--link socket: is for GPUs alone | No GPU here, so this trains on the CPU, where gloo "
            "has one link; leave the flag out");
  asked.gpus = 1;
  EXPECT_NE(refusal<UsageError>(asked, machine(1)).find("linked to no other"), std::string::npos);
  asked = flags("single");
  asked.link = "p2p";
  EXPECT_NE(refusal<UsageError>(asked, machine(2)).find("single trains on one device"),
            std::string::npos);
  asked = flags("dp");
  asked.link = "nvlink";
  EXPECT_NE(refusal<UsageError>(asked, machine(2)).find("unknown link"), std::string::npos);
}

}  // namespace
}  // namespace ddpprof

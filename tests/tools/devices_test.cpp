// Which devices compare takes and what it says of them, on machines with GPUs.
#include "profiler/trace/error.h"
#include "tools/compare/options.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace ddpprof {
namespace {

DeviceProbe gpu(std::int32_t number, const std::string& name = "NVIDIA H200") {
  return {.device = {name, 150'754'820'096, number}, .used_bytes = 4'194'304, .busy = 0.0};
}

// A machine whose driver shows `gpus`, all of which can be used.
Offer machine(std::int32_t gpus) {
  Offer offer{.gpus = gpus, .cpus = 32, .has_cuda_trainer = true, .probe = Probe{}};
  for (std::int32_t i = 0; i < gpus; ++i) offer.probe->devices.push_back(gpu(i));
  return offer;
}

// The same, where CUDA_VISIBLE_DEVICES leaves `usable`.
Offer machine(std::int32_t gpus, std::int32_t usable, const std::string& visible) {
  Offer offer = machine(gpus);
  offer.probe->devices.resize(static_cast<std::size_t>(usable));
  offer.visible_devices = visible;
  return offer;
}

Offer broken_machine() {
  Offer offer{.gpus = 2, .cpus = 32, .has_cuda_trainer = true};
  offer.probe_error = Error("ddpprof-train-cuda --probe", "CUDA: the driver is too old", "update");
  return offer;
}

CompareOptions with_gpus(std::int64_t gpus) {
  CompareOptions options;
  options.gpus = gpus;
  return options;
}

std::string value_of(const ComparePlan& plan, const std::string& flag) {
  const auto found = std::ranges::find(plan.arguments, flag);
  return found == plan.arguments.end() ? "absent" : *std::next(found);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string notes(const ComparePlan& plan) {
  return fmt::format("{}", fmt::join(plan.notes, "\n"));
}

template <typename E>
std::string refusal(const CompareOptions& options, const Offer& offer) {
  try {
    plan_compare(options, offer);
  } catch (const E& error) {
    return error.subject + ": " + error.problem + " | " + error.hint;
  }
  return "accepted";
}

TEST(PlanOnGpus, TakesBertOnTwoGpusWithoutFlags) {
  const ComparePlan plan = plan_compare({}, machine(2));
  EXPECT_TRUE(plan.on_gpus);
  EXPECT_EQ(plan.workload, "bert-base");
  EXPECT_EQ(plan.devices, 2);
  EXPECT_EQ(plan.global_batch, 64);
  EXPECT_EQ(value_of(plan, "--precision"), "bf16");
  EXPECT_EQ(value_of(plan, "--workers"), "2");
  EXPECT_EQ(value_of(plan, "--threads"), "16");
  ASSERT_EQ(plan.strategies.size(), 3u);
  EXPECT_EQ(plan.strategies[1].processes, 1);
  EXPECT_EQ(plan.strategies[1].devices, 2);
  EXPECT_EQ(plan.strategies[2].processes, 2);
  EXPECT_EQ(notes(plan), "") << "nothing is odd here";
}

// Seconds, with the slowest step times and starts that are known: 25, 200 and 30 ms; 15 s each.
TEST(PlanOnGpus, WithoutFlagsTakesLessThanNinetySeconds) {
  const ComparePlan plan = plan_compare({}, machine(2));
  const auto steps = static_cast<double>(plan.rounds * (plan.steps + plan.recorded_steps + 4));
  EXPECT_LT(3 * 15 + steps * (0.025 + 0.200 + 0.030), 90);
  EXPECT_GE(plan.rounds, 6);
  EXPECT_GE(plan.rounds * plan.steps, 60);
  EXPECT_GE(plan.warmup, 10);
}

TEST(PlanOnGpus, DeviceCudaIsTheSameDefault) {
  CompareOptions options;
  options.device = "cuda";
  const ComparePlan plan = plan_compare(options, machine(2));
  EXPECT_TRUE(plan.on_gpus);
  EXPECT_EQ(plan.devices, 2);
  EXPECT_EQ(plan.workload, "bert-base");
  const std::string one = refusal<Error>(options, machine(1));
  EXPECT_TRUE(has(one, "--device cuda: this machine has 1 NVIDIA GPU | take --gpus 1, or")) << one;
}

TEST(PlanOnGpus, SaysHowManyMoreThereAre) {
  EXPECT_EQ(notes(plan_compare({}, machine(8))), "8 GPUs here; comparing on 2 (--gpus 8 for all).");
  EXPECT_EQ(plan_compare(with_gpus(8), machine(8)).devices, 8);
  EXPECT_EQ(notes(plan_compare(with_gpus(2), machine(8))), "") << "as asked";
  // 64 samples do not divide over 3.
  EXPECT_EQ(notes(plan_compare({}, machine(3))),
            "3 GPUs here; comparing on 2 (--gpus N for another number).");
}

TEST(PlanOnGpus, OneGpuIsTheCpuUnlessAsked) {
  const ComparePlan by_default = plan_compare({}, machine(1));
  EXPECT_FALSE(by_default.on_gpus);
  EXPECT_EQ(by_default.workload, "digits-mlp");
  EXPECT_EQ(by_default.notes.at(0),
            "One GPU cannot show DP or DDP at work (--gpus 1 compares on it anyway): comparing on "
            "the CPU, a device being 16 of 32 cores.");
  const ComparePlan asked = plan_compare(with_gpus(1), machine(1));
  EXPECT_TRUE(asked.on_gpus);
  EXPECT_EQ(asked.devices, 1);
  ASSERT_EQ(asked.strategies.size(), 3u);
  EXPECT_EQ(asked.strategies[2].processes, 1);
}

TEST(PlanOnGpus, WorkersMeanTheCpu) {
  CompareOptions options;
  options.workers = 2;
  Offer offer{.gpus = 2, .cpus = 8, .has_cuda_trainer = true};
  const ComparePlan plan = plan_compare(options, offer);
  EXPECT_FALSE(plan.on_gpus);
  EXPECT_EQ(plan.workload, "digits-mlp");
  EXPECT_TRUE(has(plan.notes.at(0), "2 NVIDIA GPUs here (--gpus), but --workers is for the CPU"))
      << plan.notes.at(0);
  options.device = "cuda";
  EXPECT_TRUE(has(refusal<UsageError>(options, offer), "contradicts --device cuda"));
}

TEST(PlanOnGpus, TheErrorNamesTheVariableThatHidesGpus) {
  const std::string text = refusal<Error>(with_gpus(2), machine(4, 1, "3"));
  EXPECT_TRUE(has(text,
                  "--gpus 2: CUDA_VISIBLE_DEVICES=3 leaves 1 of this machine's 4 NVIDIA "
                  "GPUs | unset CUDA_VISIBLE_DEVICES"))
      << text;
  const std::string none = refusal<Error>(with_gpus(1), machine(4, 0, ""));
  EXPECT_TRUE(has(none, "CUDA_VISIBLE_DEVICES= leaves none of this machine's 4")) << none;
  // Without the variable something else hides them.
  Offer hidden = machine(4, 1, "");
  hidden.visible_devices.reset();
  const std::string unnamed = refusal<Error>(with_gpus(2), hidden);
  EXPECT_TRUE(has(unnamed, "CUDA can use 1 of this machine's 4 NVIDIA GPUs")) << unnamed;
  // And more than there are is not the variable's fault.
  const std::string more = refusal<Error>(with_gpus(8), machine(4, 4, "0,1,2,3"));
  EXPECT_TRUE(has(more, "--gpus 8: this machine has 4 NVIDIA GPUs")) << more;
}

TEST(PlanOnGpus, TheDefaultSaysWhatHidesGpus) {
  EXPECT_EQ(
      plan_compare({}, machine(4, 1, "3"))
          .notes.at(0)
          .find("CUDA_VISIBLE_DEVICES=3 leaves 1 of this machine's 4 NVIDIA GPUs, and one cannot"),
      0u);
  const ComparePlan none = plan_compare({}, machine(4, 0, ""));
  EXPECT_FALSE(none.on_gpus);
  EXPECT_EQ(none.notes.at(0).find("CUDA_VISIBLE_DEVICES= leaves none of"), 0u);
}

TEST(PlanOnGpus, AFailedProbeIsAnErrorWhereGpusWereAskedFor) {
  const std::string text = refusal<Error>(with_gpus(2), broken_machine());
  EXPECT_EQ(text, "--gpus 2: the GPUs cannot be used: CUDA: the driver is too old | update");
  CompareOptions options;
  options.device = "cuda";
  EXPECT_TRUE(has(refusal<Error>(options, broken_machine()), "--device cuda: the GPUs cannot"));
}

TEST(PlanOnGpus, AFailedProbeIsTheCpuWithTheReasonByDefault) {
  const ComparePlan plan = plan_compare({}, broken_machine());
  EXPECT_FALSE(plan.on_gpus);
  EXPECT_EQ(plan.notes.at(0),
            "2 NVIDIA GPUs here, but they cannot be used (CUDA: the driver is too old): comparing "
            "on the CPU, a device being 16 of 32 cores.");
}

TEST(PlanOnGpus, SaysThatGpusDiffer) {
  Offer offer = machine(4);
  offer.probe->devices[1].device.name = "NVIDIA L4";
  EXPECT_TRUE(has(notes(plan_compare({}, offer)),
                  "cuda:0 is NVIDIA H200, cuda:1 is NVIDIA L4: the slowest sets the pace of DP and "
                  "DDP; the one-device run uses cuda:0."))
      << notes(plan_compare({}, offer));
  EXPECT_TRUE(has(notes(plan_compare(with_gpus(4), offer)),
                  "cuda:0, cuda:2 and cuda:3 are NVIDIA H200, cuda:1 is NVIDIA L4"));
  CompareOptions ddp_alone;
  ddp_alone.strategies = {"ddp"};
  EXPECT_FALSE(has(notes(plan_compare(ddp_alone, offer)), "one-device run"));
  // What is not used does not matter.
  Offer last = machine(4);
  last.probe->devices[3].device.name = "NVIDIA L4";
  EXPECT_FALSE(has(notes(plan_compare({}, last)), "NVIDIA L4"));
}

TEST(PlanOnGpus, SaysThatOthersUseAGpu) {
  Offer offer = machine(2);
  offer.probe->devices[1].used_bytes = std::int64_t{3} << 30;
  EXPECT_EQ(notes(plan_compare({}, offer)),
            "Other programs use cuda:1 (NVIDIA H200; 3.0 GiB of its memory held): memory may run "
            "short, and steps take longer when they compute.");
  offer.probe->devices[1].busy = 0.37;
  EXPECT_EQ(notes(plan_compare({}, offer)),
            "Other programs use cuda:1 (NVIDIA H200; 3.0 GiB of its memory held, busy 37 % of the "
            "time): steps take longer and vary more than on a free GPU.");
}

TEST(PlanOnGpus, AFreeGpuIsNoNews) {
  Offer offer = machine(2);
  offer.probe->devices[0].used_bytes = std::int64_t{1} << 30;
  offer.probe->devices[0].busy = 0.049;
  offer.probe->devices[1].used_bytes.reset();
  offer.probe->devices[1].busy.reset();
  EXPECT_EQ(notes(plan_compare({}, offer)), "");
  offer.probe->devices[0].busy = 0.05;
  EXPECT_NE(notes(plan_compare({}, offer)), "");
}

TEST(PlanOnGpus, SaysWhichGpusTheVariableLeaves) {
  EXPECT_EQ(notes(plan_compare({}, machine(8, 2, "4,6"))),
            "CUDA_VISIBLE_DEVICES=4,6 decides which GPUs are used: cuda:0 is GPU 4, cuda:1 is GPU "
            "6.");
  EXPECT_EQ(plan_compare({}, machine(8, 2, "4,6")).devices, 2);
}

TEST(PlanOnGpus, ThreadsAreNeverSharesOfCoresThere) {
  CompareOptions options = with_gpus(2);
  Offer offer = machine(2);
  offer.cpus = 1;
  EXPECT_EQ(value_of(plan_compare(options, offer), "--threads"), "1");
  EXPECT_EQ(notes(plan_compare(options, offer)), "");
  options.threads = 5;
  EXPECT_EQ(value_of(plan_compare(options, offer), "--threads"), "5");
  EXPECT_EQ(notes(plan_compare(options, offer)), "");
}

TEST(PlanOnGpus, RefusesFp16AndTakesTheOthers) {
  CompareOptions options = with_gpus(2);
  options.precision = "fp16";
  EXPECT_EQ(refusal<UsageError>(options, machine(2)),
            "--precision fp16: needs loss scaling, which this version has not | take fp32 or bf16");
  for (const char* precision : {"fp32", "fp64", "bf16"}) {
    options.precision = precision;
    EXPECT_EQ(value_of(plan_compare(options, machine(2)), "--precision"), precision);
  }
}

TEST(PlanOnGpus, PassesItsFlagsToTheTrainers) {
  CompareOptions options = with_gpus(2);
  EXPECT_EQ(value_of(plan_compare(options, machine(2)), "--dp-threads"), "absent");
  options.dp_threads = "pool";
  options.dp_autocast = "pytorch";
  options.recorder = "events";
  options.no_cudnn_attention = true;
  const ComparePlan plan = plan_compare(options, machine(2));
  EXPECT_EQ(value_of(plan, "--dp-threads"), "pool");
  EXPECT_EQ(value_of(plan, "--dp-autocast"), "pytorch");
  EXPECT_EQ(value_of(plan, "--recorder"), "events");
  EXPECT_NE(std::ranges::find(plan.arguments, "--no-cudnn-attention"), plan.arguments.end());
}

TEST(PlanOnGpus, ItsFlagsAreRefusedOnACpu) {
  const Offer cpu{.gpus = 0, .cpus = 8, .has_cuda_trainer = false};
  CompareOptions options;
  options.dp_threads = "pool";
  EXPECT_EQ(value_of(plan_compare(options, cpu), "--dp-threads"), "pool") << "it has DP as well";
  options.dp_autocast = "caller";
  EXPECT_TRUE(has(refusal<UsageError>(options, cpu), "--dp-autocast: is for GPUs alone"));
  options.dp_autocast.reset();
  options.recorder = "auto";
  EXPECT_TRUE(has(refusal<UsageError>(options, cpu), "--recorder: is for GPUs alone"));
  options.recorder.reset();
  options.no_cudnn_attention = true;
  const std::string text = refusal<UsageError>(options, broken_machine());
  EXPECT_TRUE(has(text, "--no-cudnn-attention: is for GPUs alone")) << text;
  EXPECT_TRUE(has(text, "the driver is too old")) << text;
}

TEST(PlanOnGpus, RefusesUnknownValuesOfItsFlags) {
  CompareOptions options = with_gpus(2);
  options.dp_threads = "many";
  EXPECT_TRUE(has(refusal<UsageError>(options, machine(2)), "known are fresh, pool"));
  options.dp_threads.reset();
  options.dp_autocast = "fp8";
  EXPECT_TRUE(has(refusal<UsageError>(options, machine(2)), "known are caller, pytorch"));
  options.dp_autocast.reset();
  options.recorder = "nsys";
  EXPECT_TRUE(has(refusal<UsageError>(options, machine(2)), "known are auto, cupti, events"));
}

TEST(PlanOnGpus, ABatchThatDoesNotDivideIsRefused) {
  EXPECT_TRUE(has(refusal<UsageError>(with_gpus(3), machine(4)),
                  "batch of 64: does not divide evenly over 3 devices"));
}

TEST(CheckUsage, KnowsWhatIsWrongOnAnyMachine) {
  const auto refused = [](auto set) {
    CompareOptions options;
    set(options);
    try {
      check_usage(options);
    } catch (const UsageError&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](CompareOptions&) {}));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.workload = "resnet"; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.gpus = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.batch = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.precision = "fp8"; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.strategies = {"fsdp"}; }));
}

TEST(PlanOnGpus, TellsNcclTheLink) {
  CompareOptions options = with_gpus(2);
  options.link = "socket";
  const ComparePlan plan = plan_compare(options, machine(2));
  EXPECT_EQ(plan.link_environment,
            (std::map<std::string, std::string>{
                {"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}, {"NCCL_NET", "Socket"}}));
  EXPECT_TRUE(has(notes(plan), "NCCL's link: sockets (--link socket).")) << notes(plan);
  EXPECT_TRUE(plan_compare(with_gpus(2), machine(2)).link_environment.empty());
}

TEST(PlanOnGpus, RefusesALinkThatCannotBe) {
  CompareOptions options = with_gpus(2);
  options.link = "ib";
  EXPECT_TRUE(has(refusal<UsageError>(options, machine(2)), "known are p2p, shm, socket"));
  options.link = "p2p";
  Offer offer = machine(2);
  offer.nccl_variables = {{"NCCL_P2P_DISABLE", "1"}};
  EXPECT_TRUE(has(refusal<UsageError>(options, offer), "unset NCCL_P2P_DISABLE"));
  EXPECT_EQ(refusal<UsageError>(options, machine(2)), "accepted");
  options.gpus = 1;
  EXPECT_TRUE(has(refusal<UsageError>(options, machine(2)), "linked to no other"));
}

}  // namespace
}  // namespace ddpprof

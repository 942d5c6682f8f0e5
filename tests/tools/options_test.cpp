#include "tools/compare/options.h"

#include "profiler/trace/error.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

const Offer kNoGpu{.gpus = 0, .cpus = 8, .has_cuda_trainer = false};

std::string value_of(const ComparePlan& plan, const std::string& flag) {
  const auto found = std::ranges::find(plan.arguments, flag);
  return found == plan.arguments.end() ? "absent" : *std::next(found);
}

// The problem and hint of the error that planning throws.
template <typename E>
std::string refusal(const CompareOptions& options, const Offer& offer = kNoGpu) {
  try {
    plan_compare(options, offer);
  } catch (const E& error) {
    return error.subject + ": " + error.problem + " | " + error.hint;
  }
  return "accepted";
}

TEST(PlanCompare, TakesDigitsOnTwoCpuDevicesWithoutFlags) {
  const ComparePlan plan = plan_compare({}, kNoGpu);
  EXPECT_EQ(plan.workload, "digits-mlp");
  EXPECT_EQ(plan.devices, 2);
  EXPECT_EQ(plan.threads, 4);
  ASSERT_EQ(plan.strategies.size(), 3u);
  EXPECT_EQ(plan.strategies[0].processes, 1);
  EXPECT_EQ(plan.strategies[1].processes, 1);
  EXPECT_EQ(plan.strategies[1].devices, 2);
  EXPECT_EQ(plan.strategies[2].processes, 2);
  EXPECT_EQ(value_of(plan, "--precision"), "fp32");
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_NE(plan.notes[0].find("No GPU here"), std::string::npos);
}

TEST(PlanCompare, SaysThatAPresetsPrecisionBecomesFp32OnACpu) {
  CompareOptions options;
  options.workload = "bert-base";
  const ComparePlan plan = plan_compare(options, kNoGpu);
  EXPECT_EQ(value_of(plan, "--precision"), "fp32");
  EXPECT_TRUE(std::ranges::any_of(plan.notes, [](const std::string& note) {
    return note.find("bf16") != std::string::npos && note.find("fp32") != std::string::npos;
  }));
}

TEST(PlanCompare, KeepsTheFixedOrderOfStrategies) {
  CompareOptions options;
  options.strategies = {"ddp", "single"};
  const ComparePlan plan = plan_compare(options, kNoGpu);
  ASSERT_EQ(plan.strategies.size(), 2u);
  EXPECT_EQ(plan.strategies[0].key, "single");
  EXPECT_EQ(plan.strategies[1].key, "ddp");
}

TEST(PlanCompare, SaysThatItRunsOnTheCpuThoughThereAreGpus) {
  const ComparePlan plan = plan_compare({}, {.gpus = 2, .cpus = 8, .has_cuda_trainer = false});
  EXPECT_FALSE(plan.on_gpus);
  EXPECT_NE(plan.notes.at(0).find("no trainer for GPUs: comparing on the CPU"), std::string::npos);
}

TEST(PlanCompare, AsksForGpusThatAreNotThere) {
  CompareOptions options;
  options.gpus = 2;
  EXPECT_NE(refusal<Error>(options).find("no NVIDIA GPU"), std::string::npos);
  const std::string one = refusal<Error>(options, {.gpus = 1, .cpus = 8, .has_cuda_trainer = true});
  EXPECT_NE(one.find("--gpus 2: this machine has 1 NVIDIA GPU"), std::string::npos) << one;
}

TEST(PlanCompare, AsksForGpusWithoutATrainerForThem) {
  CompareOptions options;
  options.gpus = 2;
  const std::string text =
      refusal<Error>(options, {.gpus = 2, .cpus = 8, .has_cuda_trainer = false});
  EXPECT_NE(text.find("has no trainer for GPUs"), std::string::npos) << text;
  EXPECT_NE(text.find("--device cpu"), std::string::npos) << text;
}

TEST(PlanCompare, RefusesABatchThatDoesNotDivideAndNamesOnesThatDo) {
  CompareOptions options;
  options.batch = 100;
  options.workers = 3;
  const std::string text = refusal<UsageError>(options);
  EXPECT_NE(text.find("does not divide evenly over 3 devices"), std::string::npos) << text;
  EXPECT_NE(text.find("--batch 99 or --batch 102"), std::string::npos) << text;
  options.batch = 96;
  EXPECT_EQ(refusal<UsageError>(options), "accepted");
  options.micro_steps = 5;
  EXPECT_NE(refusal<UsageError>(options).find("3 devices x 5 micro-steps"), std::string::npos);
}

TEST(PlanCompare, RefusesNumbersOutOfRange) {
  for (const std::int64_t workers : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1438}}) {
    CompareOptions options;
    options.workers = workers;
    EXPECT_NE(refusal<UsageError>(options), "accepted") << workers;
  }
  const auto refused = [](auto set) {
    CompareOptions options;
    set(options);
    return refusal<UsageError>(options) != "accepted";
  };
  EXPECT_TRUE(refused([](CompareOptions& o) { o.steps = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.rounds = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.warmup = -1; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.batch = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.batch = 1440; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.micro_steps = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.threads = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.timeout_s = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.bucket_cap_mb = 0; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.dropout = 1; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.seq = 8; }));
  EXPECT_TRUE(refused([](CompareOptions& o) { o.link = "shm"; })) << "there is none on a CPU";
  EXPECT_TRUE(refused([](CompareOptions& o) { o.vocab = 8; }));
}

TEST(PlanCompare, RefusesUnknownNamesAndListsTheKnown) {
  CompareOptions options;
  options.workload = "resnet";
  EXPECT_NE(refusal<UsageError>(options).find("known are digits-mlp"), std::string::npos);
  options = {};
  options.strategies = {"single", "fsdp"};
  EXPECT_NE(refusal<UsageError>(options).find("known are single, dp, ddp"), std::string::npos);
  options = {};
  options.precision = "fp8";
  EXPECT_NE(refusal<UsageError>(options).find("known are fp32"), std::string::npos);
  options.precision = "fp16";
  EXPECT_NE(refusal<UsageError>(options).find("needs loss scaling"), std::string::npos);
  options = {};
  options.device = "tpu";
  EXPECT_NE(refusal<UsageError>(options).find("known are cpu, cuda"), std::string::npos);
  options = {};
  options.fault = "no-such-fault";
  EXPECT_NE(refusal<UsageError>(options), "accepted");
}

TEST(PlanCompare, SaysWhenDevicesShareCores) {
  CompareOptions options;
  options.workers = 4;
  const ComparePlan plan = plan_compare(options, {.gpus = 0, .cpus = 2, .has_cuda_trainer = false});
  EXPECT_EQ(plan.threads, 1);
  EXPECT_TRUE(std::ranges::any_of(plan.notes, [](const std::string& note) {
    return note.find("share 2 cores") != std::string::npos;
  }));
}

}  // namespace
}  // namespace ddpprof

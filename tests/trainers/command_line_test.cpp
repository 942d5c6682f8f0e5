// Wrong usage: exit code 2, one line that says what, one that says what to do.
#include "profiler/trace/error.h"
#include "tests/trainers/trainer_process.h"
#include "trainers/common/delay.h"

#include <string>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

struct Mistake {
  const char* name;
  Arguments arguments;
  const char* subject;
  const char* hint;  // a part of it
};

class Usage : public testing::TestWithParam<Mistake> {};

TEST_P(Usage, IsRefusedWithAHint) {
  TrainerProcess process(GetParam().arguments);
  EXPECT_EQ(process.wait(), 2);
  const std::string error = process.error();
  EXPECT_EQ(error.find("ddpprof-train: " + std::string(GetParam().subject)), 0U) << error;
  const auto hint = error.find("\n  hint: ");
  ASSERT_NE(hint, std::string::npos) << error;
  EXPECT_NE(error.find(GetParam().hint, hint), std::string::npos) << error;
  EXPECT_EQ(process.output(), "");
}

INSTANTIATE_TEST_SUITE_P(
    Mistakes, Usage,
    testing::Values(
        Mistake{"Workload", {"--workload", "bort"}, "--workload bort: ", "digits-mlp, bert-base"},
        Mistake{"Strategy", {"--strategy", "fsdp"}, "--strategy fsdp: ", "single, dp, ddp"},
        Mistake{"Precision", {"--precision", "fp16"}, "--precision fp16: ", "fp32 or bf16"},
        Mistake{"Optimizer", {"--optimizer", "adam"}, "--optimizer adam: ", "fused-adamw, "},
        Mistake{"Momentum", {"--momentum", "0.5"}, "--momentum: ", "fused-sgd"},
        Mistake{"Clip", {"--clip-norm", "0"}, "--clip-norm: ", "--help"},
        Mistake{"LossScale", {"--loss-scale", "big"}, "--loss-scale big: ", "dynamic"},
        Mistake{"Growth", {"--loss-scale-growth", "5"}, "--loss-scale-growth: ", "dynamic"},
        Mistake{"Schedule", {"--schedule", "step"}, "--schedule step: ", "cosine"},
        Mistake{"ScheduleSteps", {"--schedule-steps", "5"}, "--schedule-steps: ", "linear"},
        Mistake{"CudaGraph", {"--cuda-graph"}, "--cuda-graph: ", "ddpprof-train-cuda"},
        Mistake{"CommHook", {"--comm-hook", "fp8"}, "--comm-hook fp8: ", "fp16 or bf16"},
        Mistake{"Batch",
                {"--strategy", "dp", "--workers", "3", "--batch", "64"},
                "--batch 64: ",
                "--batch 63 or --batch 66"},
        Mistake{"MicroSteps", {"--micro-steps", "3"}, "--batch 64: ", "--batch 63"},
        Mistake{"BatchTooLarge", {"--batch", "5000"}, "--batch 5000: ", "at most 1437"},
        Mistake{"NoWorkers", {"--strategy", "dp", "--workers", "0"}, "--workers 0: ", "--help"},
        Mistake{"TooManyWorkers",
                {"--strategy", "dp", "--workers", "100"},
                "--batch 64: ",
                "--batch 100"},
        Mistake{
            "Width", {"--workload", "bert-base", "--width", "200"}, "--width 200: ", "--width 192"},
        Mistake{"Sequence", {"--workload", "bert-base", "--seq", "600"}, "--seq 600: ", "128"},
        Mistake{"NoSuchSetting", {"--seq", "16"}, "--seq: ", "leave it out"},
        Mistake{"DpThreads", {"--dp-threads", "many"}, "--dp-threads many: ", "fresh or pool"},
        Mistake{"NoGpus", {"--devices", "0,1"}, "command line: ", "--help"},
        Mistake{"NoRank", {"--strategy", "ddp"}, "WORLD_SIZE: ", "torchrun"},
        Mistake{"Fault", {"--fault", "flood"}, "--fault flood: ", "sum-gradients"},
        Mistake{"FaultRank", {"--fault", "die-in-warmup:7"}, "--fault die-in-warmup:7: ", "0 to 0"},
        Mistake{"Delay", {"--delay", "loss:host:10"}, "--delay loss:host:10: ", "phases: data, "},
        Mistake{"DelayOfAnotherStrategy",
                {"--delay", "scatter:host:10"},
                "--delay scatter: ",
                "data, forward, backward, optimizer"},
        Mistake{"DelayOfNoDevice",
                {"--delay", "forward:device:10"},
                "--delay forward:device: ",
                "ddpprof-train-cuda"},
        Mistake{"LoaderThreads", {"--loader-threads", "-1"}, "--loader-threads -1: ", "--help"},
        Mistake{
            "Prefetch", {"--loader-threads", "1", "--prefetch", "0"}, "--prefetch 0: ", "--help"},
        Mistake{"PrefetchOfNobody", {"--prefetch", "4"}, "--prefetch: ", "--loader-threads 1"},
        Mistake{"DataCost", {"--data-cost-us", "1000001"}, "--data-cost-us 1000001: ", "--help"},
        Mistake{"PinMemory", {"--pin-memory"}, "--pin-memory: ", "on a CPU"},
        Mistake{"Both", {"--steps", "1", "--epochs", "1"}, "--epochs: ", "one of them"},
        Mistake{"Flag", {"--fast"}, "command line: ", "--help"},
        Mistake{"Number", {"--batch", "many"}, "command line: ", "--help"},
        Mistake{"Control", {"--control-fd", "77"}, "--control-fd 77: ", "stand-alone"}),
    [](const auto& row) { return row.param.name; });

TEST(Delays, AreParsedWithTheirOptions) {
  const Delay plain = parse_delay("all_reduce:host:20000");
  EXPECT_EQ(plain.phase, Phase::all_reduce);
  EXPECT_EQ(plain.kind, DelayKind::host);
  EXPECT_EQ(plain.length_ns, 20'000'000);
  EXPECT_FALSE(plain.has_controls);
  EXPECT_FALSE(plain.is_due(0));
  EXPECT_TRUE(plain.is_due(1));
  const Delay delay = parse_delay("data:device:1:every=3:control");
  EXPECT_EQ(delay.kind, DelayKind::device);
  EXPECT_TRUE(delay.has_controls);
  EXPECT_EQ(delay.every, 3);
  EXPECT_FALSE(delay.is_due(1));
  EXPECT_TRUE(delay.is_due(5));
  for (const char* wrong :
       {"", "data", "data:host", "data:host:", "data:host:0", "data:host:-5", "data:host:5ms",
        "data:host:60000001", "data:cpu:5", "gather:host:5", "data:host:5:every=0",
        "data:host:5:every", "data:host:5:", "data:host:5:control=1", "Data:host:5"}) {
    EXPECT_THROW(parse_delay(wrong), UsageError) << wrong;
  }
}

TEST(Delays, FitTheStrategyAndTheKindOfDevice) {
  const auto fits = [](const char* delay, const char* strategy, std::int64_t devices,
                       bool are_threads) {
    try {
      check_delay_fits(parse_delay(delay), strategy, devices, are_threads);
      return true;
    } catch (const UsageError& error) {
      EXPECT_FALSE(error.hint.empty());
      return false;
    }
  };
  EXPECT_TRUE(fits("replicate:host:5", "dp", 1, true));
  EXPECT_TRUE(fits("replicate:device:5", "dp", 2, false));
  EXPECT_FALSE(fits("replicate:device:5", "dp", 1, false)) << "it calls the model itself";
  EXPECT_FALSE(fits("replicate:host:5", "ddp", 1, true));
  EXPECT_TRUE(fits("all_reduce:device:5", "ddp", 1, false));
  EXPECT_FALSE(fits("all_reduce:device:5", "ddp", 1, true)) << "there is no device to spin";
  EXPECT_FALSE(fits("all_reduce:host:5", "dp", 2, true));
  EXPECT_FALSE(fits("all_reduce:host:5", "single", 1, true));
}

TEST(CommandLine, HelpIsAManual) {
  TrainerProcess process({"--help"});
  EXPECT_EQ(process.wait(), 0);
  for (const char* word : {"--strategy", "--gradient-as-bucket-view", "--delay",
                           "Examples:", "torchrun", "Exit codes:"}) {
    EXPECT_NE(process.output().find(word), std::string::npos) << word;
  }
  EXPECT_NE(process.output().find("\n  ddpprof-train --strategy dp"), std::string::npos);
  EXPECT_EQ(process.output().find("{program}"), std::string::npos);
  EXPECT_EQ(process.error(), "");
}

TEST(CommandLine, VersionIsOneLine) {
  TrainerProcess process({"--version"});
  EXPECT_EQ(process.wait(), 0);
  EXPECT_EQ(process.output().find("ddpprof-train "), 0U) << process.output();
}

TEST(CommandLine, SaysThatAPresetTrainsInFp32OnACpu) {
  TrainerProcess process({"--workload", "bert-base", "--layers", "1", "--width", "32", "--seq", "4",
                          "--vocab", "10", "--batch", "2", "--steps", "1"});
  EXPECT_EQ(process.wait(), 0) << process.error();
  EXPECT_NE(process.error().find("on this CPU it trains in fp32\n"), std::string::npos);
}

TEST(CommandLine, Bf16TrainsOnACpuWhenAskedFor) {
  TrainerProcess process({"--workload", "bert-base", "--layers", "1", "--width", "32", "--seq", "4",
                          "--vocab", "10", "--batch", "4", "--steps", "2", "--precision", "bf16",
                          "--strategy", "dp"});
  EXPECT_EQ(process.wait(), 0) << process.error();
  EXPECT_EQ(process.error(), "");
}

TEST(CommandLine, AnUnwritableFileIsAFailureNotWrongUsage) {
  TrainerProcess process({"--steps", "1", "--metrics", "/nowhere/m.jsonl"});
  EXPECT_EQ(process.wait(), 1);
  EXPECT_NE(process.error().find("--metrics /nowhere/m.jsonl: "), std::string::npos);
  EXPECT_NE(process.error().find("\n  hint: "), std::string::npos);
}

}  // namespace
}  // namespace ddpprof::test

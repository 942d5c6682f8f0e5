// The built program as a user meets it: exit codes, words, start-up. Needs no trainer.
#include "tests/tools/program.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

const std::string kProgram = DDPPROF_PROGRAM;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Refusal {
  std::vector<std::string> arguments;
  int exit_code;
  std::string message;
};

TEST(Cli, RefusesWithWordsAHintAndTheRightExitCode) {
  const std::vector<Refusal> refusals = {
      {{}, 2, "none given"},
      {{"comapre"}, 2, "did you mean compare?"},
      {{"compare", "--wokers", "3"}, 2, "did you mean --workers?"},
      {{"compare", "--nonsense-flag"}, 2, "--nonsense-flag: unknown flag"},
      {{"compare", "--workers", "many"}, 2, "--workers"},
      {{"compare", "--workers", "0"}, 2, "--workers 0: must be at least 1"},
      {{"compare", "--workers", "5000"}, 2, "has only 1437 samples"},
      {{"compare", "--workload", "resnet-51"}, 2, "unknown workload"},
      {{"compare", "--strategies", "single,fsdp"}, 2, "unknown strategy"},
      {{"compare", "--workers", "3", "--batch", "64"}, 2, "does not divide evenly over 3 devices"},
      {{"compare", "--gpus", "99", "--precision", "fp16"}, 2, "needs loss scaling"},
      {{"compare", "--device", "cpu", "--no-cudnn-attention"}, 2, "is for GPUs alone"},
      {{"compare", "--device", "cpu", "--dp-autocast", "pytorch"}, 2, "is for GPUs alone"},
      {{"compare", "--device", "cpu", "--link", "shm"}, 2, "--link: is for GPUs alone"},
      {{"compare", "--link", "ib"}, 2, "known are p2p, shm, socket"},
      {{"train", "--strategy", "fsdp"}, 2, "known are single, dp, ddp"},
      {{"train", "--gpus", "many", "--steps", "3"}, 2, "Could not convert: --gpus"},
      {{"train", "--gpus", "2"}, 2, "single trains on one device"},
      {{"train", "--strategy", "ddp", "--gpus", "64"}, 1, "NVIDIA GPU"},
      {{"compare", "--dp-threads", "many"}, 2, "known are fresh, pool"},
      {{"compare", "--gpus", "64"}, 1, "NVIDIA GPU"},
      {{"compare", "--gpus", "2", "--workers", "2"}, 2, "contradicts"},
      {{"compare", "--out", "/proc/nowhere"}, 1, "cannot be written"},
      {{"info"}, 2, "required"},
      {{"info", "/nowhere"}, 1, "/nowhere: there is no such file or folder"},
      {{"info", "/proc/self/fd"}, 1, "holds no whole run"},
      {{"info", "/proc/version"}, 1, "/proc/version: "},
      {{"list", "colours"}, 2, "workloads, strategies, formats, faults"},
  };
  for (const Refusal& refusal : refusals) {
    std::vector<std::string> command = {kProgram};
    command.insert(command.end(), refusal.arguments.begin(), refusal.arguments.end());
    const Outcome outcome = run_program(command);
    const std::string shown = ::testing::PrintToString(refusal.arguments) + "\n" + outcome.err;
    EXPECT_EQ(outcome.exit_code, refusal.exit_code) << shown;
    EXPECT_TRUE(has(outcome.err, refusal.message)) << shown;
    EXPECT_TRUE(outcome.err.starts_with("ddpprof: ")) << shown;
    EXPECT_EQ(outcome.out, "") << shown;
  }
}

TEST(Cli, AFullDiskBehindStandardOutputIsAnError) {
  const Outcome outcome =
      run_program({"/bin/sh", "-c", "\"$0\" list workloads > /dev/full", kProgram});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(has(outcome.err, "standard output: cannot be written")) << outcome.err;
}

TEST(Cli, RefusesAFolderThatHoldsARun) {
  const fs::path folder =
      fs::path(testing::TempDir()) / ("cli_holds_run_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "run.json") << "{}";
  const Outcome outcome = run_program({kProgram, "compare", "--out", folder.string()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(has(outcome.err, "already holds a run")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "--force")) << outcome.err;
  fs::remove_all(folder);
}

TEST(Cli, HelpReadsLikeAManual) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{}, {"compare"}, {"list"}, {"train"}}) {
    std::vector<std::string> words = {kProgram};
    words.insert(words.end(), command.begin(), command.end());
    words.push_back("--help");
    const Outcome outcome = run_program(words);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(has(outcome.out, "Example")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "Usage: ddpprof")) << outcome.out;
  }
}

TEST(Cli, VersionNamesTheCommitAndTheBuilds) {
  const Outcome outcome = run_program({kProgram, "--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(has(outcome.out, "ddpprof " DDPPROF_VERSION)) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "commit ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "ddpprof-train-cuda")) << outcome.out;
}

TEST(Cli, ListsWhatThereIs) {
  EXPECT_TRUE(has(run_program({kProgram, "list", "workloads"}).out, "bert-base"));
  EXPECT_TRUE(has(run_program({kProgram, "list", "strategies"}).out, "ddp "));
  EXPECT_TRUE(has(run_program({kProgram, "list", "faults"}).out, "sum-gradients"));
  EXPECT_TRUE(has(run_program({kProgram, "list", "formats"}).out, "native"));
}

#ifdef DDPPROF_FAST_BUILD  // sanitizers slow the start down
TEST(Cli, StartsInLessThanTwentyMilliseconds) {
  double best = 1;
  for (int i = 0; i < 10; ++i) best = std::min(best, run_program({kProgram, "--version"}).seconds);
  EXPECT_LT(best, 0.020);
}
#endif

TEST(Cli, LinksNeitherLibTorchNorCuda) {
  const Outcome outcome = run_program({"ldd", kProgram});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "libstdc++")) << outcome.out;
  for (const char* library : {"torch", "libc10", "cuda", "cudart", "nccl", "cupti"}) {
    EXPECT_FALSE(has(outcome.out, library)) << library << " in\n" << outcome.out;
  }
}

}  // namespace
}  // namespace ddpprof::test

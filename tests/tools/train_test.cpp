// `ddpprof train` end to end, with the real trainer.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/tools/program.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

class TrainTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("train_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome train(const std::vector<std::string>& flags) {
    std::vector<std::string> command = {
        DDPPROF_PROGRAM, "train", "--device", "cpu",          "--threads", "1",
        "--steps",       "10",    "--trace",  trace("{rank}")};
    command.insert(command.end(), flags.begin(), flags.end());
    return run_program(command);
  }

  std::string trace(const std::string& rank) const {
    return (folder_ / ("trace-" + rank + ".json.gz")).string();
  }
  Trace read(int rank) const {
    const std::string name = trace(std::to_string(rank));
    return read_native(read_file(name), name);
  }

  // "loss 1.734492" of the line that the trainer ends with.
  static double loss_of(const Outcome& outcome) {
    const std::size_t at = outcome.out.find(", loss ");
    return at == std::string::npos ? -1 : std::stod(outcome.out.substr(at + 7));
  }

  fs::path folder_;
};

TEST_F(TrainTest, TrainsTheSameByEachStrategy) {
  const Outcome single = train({});
  ASSERT_EQ(single.exit_code, 0) << single.err;
  EXPECT_TRUE(single.out.starts_with("digits-mlp, single, 1 device: 10 steps")) << single.out;
  EXPECT_EQ(read(0).info.strategy, "single");

  const Outcome dp = train({"--strategy", "dp"});
  ASSERT_EQ(dp.exit_code, 0) << dp.err;
  EXPECT_TRUE(dp.out.starts_with("digits-mlp, dp, 2 devices: 10 steps")) << dp.out;
  EXPECT_EQ(read(0).info.strategy, "dp");

  const Outcome ddp = train({"--strategy", "ddp"});
  ASSERT_EQ(ddp.exit_code, 0) << ddp.err;
  EXPECT_TRUE(ddp.out.starts_with("digits-mlp, ddp, 2 devices: 10 steps")) << ddp.out;
  EXPECT_EQ(read(0).info.strategy, "ddp");
  EXPECT_EQ(read(1).info.rank, 1);
  EXPECT_EQ(read(1).info.world_size, 2);

  EXPECT_GT(loss_of(single), 0);
  EXPECT_NEAR(loss_of(dp), loss_of(single), 1e-4);
  EXPECT_NEAR(loss_of(ddp), loss_of(single), 1e-4);
}

TEST_F(TrainTest, ADeadRankIsNamed) {
  const Outcome outcome = train({"--strategy", "ddp", "--fault", "die-in-warmup:1"});
  EXPECT_EQ(outcome.exit_code, 128 + 9);
  EXPECT_NE(outcome.err.find("ddpprof: rank 1: killed by signal 9"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(processes_with(trace("{rank}")), 0);
}

TEST_F(TrainTest, ARankThatThrowsSaysWhy) {
  const Outcome outcome = train({"--strategy", "ddp", "--fault", "throw-in-backward:1"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("rank 1: ddpprof-train: backward: fails on purpose"),
            std::string::npos)
      << outcome.err;
}

TEST_F(TrainTest, WrongUsageIsTheTrainersAndSaidOnce) {
  const Outcome outcome = train({"--strategy", "ddp", "--wokload", "digits-mlp"});
  EXPECT_EQ(outcome.exit_code, 2);
  const std::size_t at = outcome.err.find("--wokload");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("--wokload", at + 1), std::string::npos) << outcome.err;
}

TEST_F(TrainTest, HelpHasTheTrainersFlags) {
  const Outcome outcome = run_program({DDPPROF_PROGRAM, "train", "--help"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("--bucket-cap-mb"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace ddpprof::test

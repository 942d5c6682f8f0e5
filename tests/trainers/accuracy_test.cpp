// The digits are learned, whatever the strategy.
#include "tests/trainers/trainer_process.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr double kWantedPercent = 96;

// From "…, test accuracy 98.61 % (355 of 360), …".
double accuracy_percent(const std::string& output) {
  const std::string mark = "test accuracy ";
  const auto at = output.find(mark);
  return at == std::string::npos ? -1 : std::strtod(output.c_str() + at + mark.size(), nullptr);
}

TEST(Accuracy, SingleLearnsTheDigits) {
  TrainerProcess process({"--threads", "1"});
  ASSERT_EQ(process.wait(), 0) << process.error();
  EXPECT_GE(accuracy_percent(process.output()), kWantedPercent) << process.output();
  EXPECT_NE(process.output().find("of 360)"), std::string::npos) << process.output();
}

TEST(Accuracy, DpLearnsTheDigits) {
  TrainerProcess process({"--strategy", "dp", "--threads", "1"});
  ASSERT_EQ(process.wait(), 0) << process.error();
  EXPECT_GE(accuracy_percent(process.output()), kWantedPercent) << process.output();
}

TEST(Accuracy, DdpLearnsTheDigitsAndCountsEveryTestImageOnce) {
  const std::int32_t port = free_port();
  const Arguments arguments = {"--strategy", "ddp", "--batch", "63"};
  TrainerProcess rank0(arguments, rank_environment(0, 3, port));
  TrainerProcess rank1(arguments, rank_environment(1, 3, port));
  TrainerProcess rank2(arguments, rank_environment(2, 3, port));
  ASSERT_EQ(rank0.wait(), 0) << rank0.error();
  ASSERT_EQ(rank1.wait(), 0) << rank1.error();
  ASSERT_EQ(rank2.wait(), 0) << rank2.error();
  EXPECT_GE(accuracy_percent(rank0.output()), kWantedPercent) << rank0.output();
  EXPECT_NE(rank0.output().find("of 360)"), std::string::npos) << rank0.output();
  EXPECT_EQ(rank1.output(), "") << "only rank 0 speaks";
}

TEST(Accuracy, AnEpochIsWholeBatchesOfTheTrainingImages) {
  TemporaryFolder folder;
  const auto metrics = folder.path() / "metrics.jsonl";
  TrainerProcess process(
      {"--epochs", "2", "--batch", "100", "--metrics", metrics.string(), "--threads", "1"});
  ASSERT_EQ(process.wait(), 0) << process.error();
  std::ifstream file(metrics);
  std::string line;
  int lines_count = 0;
  while (std::getline(file, line) && line.find("test_accuracy") == std::string::npos) {
    ++lines_count;
    EXPECT_EQ(line.find("{\"step\": " + std::to_string(lines_count) + ", \"loss\": "), 0U) << line;
  }
  EXPECT_EQ(lines_count, 2 * (1437 / 100));
  EXPECT_EQ(line.find("{\"step\": 28, \"test_accuracy\": 0."), 0U) << line;
}

// Every look at the test samples has a line after its step's; rank 0 alone finds the same.
TEST(Accuracy, IsLookedAtAsOftenAsAsked) {
  for (const char* who : {"all", "rank0"}) {
    const TemporaryFolder folder;
    const auto metrics = folder.path() / "metrics.jsonl";
    EXPECT_EQ(run_ranks(3, {"--steps", "7", "--batch", "63", "--eval", who, "--eval-every", "3",
                            "--metrics", metrics.string()}),
              (std::vector<int>{0, 0, 0}));
    std::ifstream file(metrics);
    std::vector<std::string> looks;
    std::string before;
    for (std::string line; std::getline(file, line); before = line) {
      if (line.find("test_accuracy") == std::string::npos) continue;
      EXPECT_EQ(line.substr(0, 10), before.substr(0, 10));
      looks.push_back(line);
    }
    ASSERT_EQ(looks.size(), 3U) << who;
    EXPECT_EQ(looks[0].find("{\"step\": 3,"), 0U) << looks[0];
    EXPECT_EQ(looks[2].find("{\"step\": 7,"), 0U) << looks[2];
    static const std::vector<std::string> of_all = looks;
    EXPECT_EQ(looks, of_all) << who;
  }
}

}  // namespace
}  // namespace ddpprof::test

#include "profiler/trace/error.h"
#include "tests/trainers/trainer_process.h"
#include "trainers/common/launcher_environment.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

LauncherEnvironment read(const Environment& environment) {
  return read_launcher_environment([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string subject_of_error(const Environment& environment) {
  try {
    read(environment);
    return "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(error.hint.find("torchrun"), std::string::npos);
    return error.subject;
  }
}

Environment without(Environment environment, const std::string& name) {
  environment.erase(name);
  return environment;
}

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

const Environment kGood = {{"RANK", "5"},
                           {"WORLD_SIZE", "8"},
                           {"LOCAL_RANK", "1"},
                           {"MASTER_ADDR", "10.0.0.1"},
                           {"MASTER_PORT", "29500"}};

TEST(LauncherEnvironment, IsReadAsTorchrunSetsIt) {
  const LauncherEnvironment place = read(kGood);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.world_size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_world_size, 8) << "one host unless LOCAL_WORLD_SIZE says otherwise";
  EXPECT_EQ(read(with(kGood, "LOCAL_WORLD_SIZE", "4")).local_world_size, 4);
  EXPECT_EQ(place.master_address, "10.0.0.1");
  EXPECT_EQ(place.master_port, 29500);
  EXPECT_FALSE(place.serves_store());
}

TEST(LauncherEnvironment, RankZeroServesTheStoreUnlessTheLauncherDoes) {
  const Environment rank0 = with(kGood, "RANK", "0");
  EXPECT_TRUE(read(rank0).serves_store());
  EXPECT_FALSE(read(with(rank0, "TORCHELASTIC_USE_AGENT_STORE", "True")).serves_store());
  EXPECT_TRUE(read(with(rank0, "TORCHELASTIC_USE_AGENT_STORE", "False")).serves_store());
}

TEST(LauncherEnvironment, TheLocalRankMayBeMissing) {
  EXPECT_EQ(read(without(kGood, "LOCAL_RANK")).local_rank, 5);
}

TEST(LauncherEnvironment, NamesWhatIsMissingOrWrong) {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    EXPECT_EQ(subject_of_error(without(kGood, name)), name);
  }
  EXPECT_EQ(subject_of_error(with(kGood, "RANK", "8")), "RANK=8");
  EXPECT_EQ(subject_of_error(with(kGood, "RANK", "one")), "RANK=one");
  EXPECT_EQ(subject_of_error(with(kGood, "WORLD_SIZE", "0")), "WORLD_SIZE=0");
  EXPECT_EQ(subject_of_error(with(kGood, "MASTER_PORT", "70000")), "MASTER_PORT=70000");
}

TEST(LauncherEnvironment, TwoRanksTrainTogether) {
  EXPECT_EQ(run_ranks(2, {"--steps", "3", "--batch", "8"}), (std::vector<int>{0, 0}));
}

TEST(LauncherEnvironment, AWorldOfOneIsAJobToo) {
  EXPECT_EQ(run_ranks(1, {"--steps", "3", "--batch", "8"}), (std::vector<int>{0}));
}

}  // namespace
}  // namespace ddpprof::test

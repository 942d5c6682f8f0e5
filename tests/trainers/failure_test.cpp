// A step that throws in its middle, while it is recorded: the process says so and ends, and nothing
// stays behind.
#include "tests/trainers/trainer_process.h"

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

// The second step is the first that is recorded, and its backward throws.
Arguments failing_run(const std::string& strategy, const TemporaryFolder& folder, Arguments more) {
  more.insert(more.end(), {"--strategy", strategy, "--warmup", "1", "--steps", "5", "--fault",
                           "throw-in-backward", "--trace", (folder.path() / "{rank}.json").string(),
                           "--metrics", (folder.path() / "losses.jsonl").string()});
  return more;
}

// Guarantees: no trace, whole or half, and no other file than the losses that were flushed.
void expect_no_trace(const TemporaryFolder& folder) {
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(file.path().filename(), "losses.jsonl");
  }
}

void expect_ended(const TrainerProcess& process) {
  EXPECT_EQ(::kill(process.pid(), 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

class Failure : public testing::TestWithParam<Arguments> {};

TEST_P(Failure, InMidStepIsSaidAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  TrainerProcess process(
      failing_run(GetParam().front(), folder, {GetParam().begin() + 1, GetParam().end()}));
  EXPECT_EQ(process.wait(60), 1);
  EXPECT_NE(process.error().find("backward: fails on purpose\n  hint: "), std::string::npos)
      << process.error();
  EXPECT_EQ(process.output(), "");
  expect_no_trace(folder);
  expect_ended(process);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Failure,
                         testing::Values(Arguments{"single"}, Arguments{"dp"},
                                         Arguments{"dp", "--dp-threads", "pool"}),
                         [](const auto& row) {
                           return row.param.front() + (row.param.size() > 1 ? "_pool" : "");
                         });

TEST(Failure, OfOneRankEndsTheOther) {
  const TemporaryFolder folder;
  const std::int32_t port = free_port();
  const Arguments arguments = failing_run("ddp", folder, {});
  TrainerProcess rank0(arguments, rank_environment(0, 2, port));
  TrainerProcess rank1(arguments, rank_environment(1, 2, port));
  EXPECT_EQ(rank1.wait(60), 1);
  EXPECT_NE(rank1.error().find("backward: fails on purpose"), std::string::npos) << rank1.error();
  EXPECT_EQ(rank0.wait(60), 1);
  EXPECT_NE(rank0.error().find("rank 0: lost another rank during a collective"), std::string::npos)
      << rank0.error();
  expect_no_trace(folder);
  expect_ended(rank0);
  expect_ended(rank1);
}

}  // namespace
}  // namespace ddpprof::test

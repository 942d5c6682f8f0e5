// What the ranks of a job say when one of them is not there, dies or hangs.
#include "profiler/trace/error.h"
#include "tests/trainers/trainer_process.h"
#include "trainers/common/faults.h"
#include "trainers/common/listening_socket.h"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ddpprof::test {
namespace {

constexpr int kKilled = 128 + 9;

Arguments with_defaults(Arguments more) {
  more.insert(more.begin(), {"--strategy", "ddp", "--steps", "100", "--batch", "12"});
  return more;
}

void expect_error(TrainerProcess& process, const std::string& text, double timeout_s) {
  EXPECT_EQ(process.wait(timeout_s), 1);
  EXPECT_NE(process.error().find(text), std::string::npos) << process.error();
  EXPECT_NE(process.error().find("\n  hint: "), std::string::npos) << process.error();
}

TEST(Peers, TheSurvivorsOfADeadRankSaySoWithinSeconds) {
  const std::int32_t port = free_port();
  const Arguments arguments = with_defaults({"--fault", "die-in-warmup:1"});
  TrainerProcess rank0(arguments, rank_environment(0, 3, port));
  TrainerProcess rank1(arguments, rank_environment(1, 3, port));
  TrainerProcess rank2(arguments, rank_environment(2, 3, port));
  EXPECT_EQ(rank1.wait(60), kKilled);
  expect_error(rank0, "rank 0: lost another rank during a collective", 10);
  expect_error(rank2, "rank 2: lost another rank during a collective", 10);
}

TEST(Peers, ARankThatHangsIsNamedAsATimeout) {
  const std::int32_t port = free_port();
  const Arguments arguments = with_defaults({"--fault", "hang-in-warmup", "--timeout", "3"});
  TrainerProcess rank0(arguments, rank_environment(0, 2, port));
  TrainerProcess rank1(arguments, rank_environment(1, 2, port));
  expect_error(rank0, "rank 0: a collective did not end within 3 s", 60);
  EXPECT_EQ(rank1.wait(0), std::nullopt) << "it hangs";
}

TEST(Peers, ARankThatNeverComesIsMissed) {
  TrainerProcess rank0(with_defaults({"--timeout", "2"}), rank_environment(0, 2, free_port()));
  expect_error(rank0, "rank 0: the other ranks did not come within 2 s", 60);
}

TEST(Peers, ARankWithoutAStoreSaysWhereItLooked) {
  const std::int32_t port = free_port();
  TrainerProcess rank1(with_defaults({"--timeout", "2"}), rank_environment(1, 2, port));
  expect_error(rank1, "rank 1: cannot reach rank 0 at 127.0.0.1:" + std::to_string(port), 60);
}

TEST(Peers, APortInUseIsNamed) {
  const ListeningSocket taken = open_listening_socket("127.0.0.1", 0);
  TrainerProcess rank0(with_defaults({}), rank_environment(0, 2, taken.port));
  expect_error(rank0, "MASTER_PORT " + std::to_string(taken.port) + ": is in use already", 60);
  ::close(taken.descriptor);
}

TEST(Peers, PortZeroNeedsALauncher) {
  TrainerProcess rank0(with_defaults({}), rank_environment(0, 2, 0));
  EXPECT_EQ(rank0.wait(), 2);
  EXPECT_NE(rank0.error().find("MASTER_PORT=0: "), std::string::npos) << rank0.error();
}

TEST(Faults, AreParsedWithTheirRank) {
  EXPECT_FALSE(parse_fault("sum-gradients", 2).rank);
  EXPECT_EQ(parse_fault("hang-in-warmup:1", 2).rank, 1);
  for (const char* wrong :
       {"", "sum", "die-in-warmup:", "die-in-warmup:2", "die-in-warmup:-1", "die-in-warmup:1x"}) {
    EXPECT_THROW(parse_fault(wrong, 2), UsageError) << wrong;
  }
}

TEST(Faults, ActOnTheLastRankUnlessTheyAreEverywhere) {
  const Fault sum = parse_fault("sum-gradients", 3);
  const Fault die = parse_fault("die-in-warmup", 3);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(is_planted(sum, FaultKind::sum_gradients, rank, 3));
    EXPECT_FALSE(is_planted(sum, FaultKind::die_in_warmup, rank, 3));
    EXPECT_EQ(is_planted(die, FaultKind::die_in_warmup, rank, 3), rank == 2);
  }
}

}  // namespace
}  // namespace ddpprof::test

// The ranks of `ddpprof train`, with bash scripts in the trainers' place.
#include "tools/train/launch.h"

#include "profiler/trace/error.h"
#include "tests/tools/program.h"
#include "tests/tools/script_folder.h"
#include "tools/train/held_port.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ddpprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// For ranks that wait for each other.
constexpr const char* kFunctions = R"bash(
until_there() { while [[ ! -e $1 ]]; do sleep 0.01; done; }
leave() { echo $$ > left.new; mv left.new left; exit "$1"; }
until_rank_zero_is_reaped() { until_there left; while [[ -e /proc/$(<left) ]]; do sleep 0.01; done; }
cd "$(dirname "$0")"
)bash";

class RunRanks : public test::ScriptFolder {
 protected:
  RanksOutcome run(const std::string& body, std::int32_t processes,
                   const std::vector<std::string>& arguments = {},
                   milliseconds grace = milliseconds(5'000)) {
    LaunchPlan plan;
    plan.processes = processes;
    plan.arguments = arguments;
    plan.environment = environment_;
    plan.defaults = {{"TRAIN_DEFAULT", "default"}};
    plan.unset = {"RANK", "TRAIN_HIDDEN"};
    const auto begin = steady_clock::now();
    const RanksOutcome outcome = run_ranks(plan, script("trainer", kFunctions + body), grace);
    seconds_ = std::chrono::duration<double>(steady_clock::now() - begin).count();
    EXPECT_TRUE(is_all_gone());
    return outcome;
  }

  // What bash had started itself takes a moment to go.
  bool is_all_gone() const {
    for (int i = 0; i < 500; ++i) {
      if (test::processes_with((folder_ / "trainer").string()) == 0) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::map<std::string, std::string> environment_;
  double seconds_ = 0;
};

TEST_F(RunRanks, TellsEachItsPlaceAndGivesAllTheSameFlags) {
  setenv("TRAIN_HIDDEN", "secret", 1);
  environment_ = {{"NCCL_P2P_DISABLE", "1"}};
  const RanksOutcome outcome =
      run("echo \"$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $TRAIN_DEFAULT "
          "$NCCL_P2P_DISABLE ${TRAIN_HIDDEN-hidden} $#: $*\" > place-$RANK; "
          "echo $MASTER_PORT > port-$RANK",
          3, {"--steps", "two words", ""});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.words, "");
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(read(fmt::format("place-{}", rank)),
              fmt::format("{0} {0} 3 3 127.0.0.1 default 1 hidden 3: --steps two words \n", rank));
    EXPECT_EQ(read(fmt::format("port-{}", rank)), read("port-0"));
  }
  EXPECT_GT(std::stoi(read("port-0")), 0);
  unsetenv("TRAIN_HIDDEN");
}

TEST_F(RunRanks, AVariableOfTheUsersIsNotReplacedByADefault) {
  setenv("TRAIN_DEFAULT", "mine", 1);
  run("echo $TRAIN_DEFAULT > seen-$RANK", 1);
  EXPECT_EQ(read("seen-0"), "mine\n");
  unsetenv("TRAIN_DEFAULT");
}

TEST_F(RunRanks, RankZeroAloneHasTheTerminal) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const RanksOutcome outcome = run("echo out $RANK; echo err $RANK >&2", 2);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "out 0\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "err 0\n");
  EXPECT_EQ(outcome.words, "");
}

TEST_F(RunRanks, ARankThatDiesEndsTheOthersAtOnce) {
  const RanksOutcome outcome =
      run("if ((RANK == 1)); then echo 'about to die' >&2; kill -KILL $$; fi; exec sleep 60", 3);
  EXPECT_EQ(outcome.exit_code, 128 + 9);
  EXPECT_EQ(outcome.words,
            "rank 1: about to die\n"
            "ddpprof: rank 1: killed by signal 9 (Killed); the other ranks were ended\n");
  EXPECT_LT(seconds_, 10);
}

TEST_F(RunRanks, AnExitCodeIsKept) {
  const RanksOutcome outcome =
      run("((RANK == 2)) || exec sleep 60; yes line | head -n 50; echo the end; exit 7", 3);
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_TRUE(outcome.words.ends_with(
      "rank 2: the end\nddpprof: rank 2: exit code 7; the other ranks were ended\n"))
      << outcome.words;
  EXPECT_EQ(std::ranges::count(outcome.words, '\n'), 21) << "the last twenty, and one of ours";
  EXPECT_LT(seconds_, 10);
}

TEST_F(RunRanks, WhatRankZeroHasSaidIsNotSaidAgain) {
  testing::internal::CaptureStderr();
  const RanksOutcome outcome = run("((RANK == 0)) || exec sleep 60; echo why >&2; exit 1", 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "why\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.words, "");
}

TEST_F(RunRanks, ADeathOutranksTheExitCodesItCauses) {
  const RanksOutcome outcome =
      run("if ((RANK == 1)); then until_rank_zero_is_reaped; kill -SEGV $$; fi; leave 1", 2);
  EXPECT_EQ(outcome.exit_code, 128 + 11);
  EXPECT_NE(outcome.words.find("rank 1: killed by signal 11"), std::string::npos) << outcome.words;
}

TEST_F(RunRanks, TheWordsOfARankThatFailsBehindRankZeroAreShown) {
  const RanksOutcome outcome = run(
      "if ((RANK == 1)); then until_rank_zero_is_reaped; echo the cause >&2; exit 3; fi; leave 1",
      2);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.words, "rank 1: the cause\n");
}

TEST_F(RunRanks, WrongUsageIsSaidOnce) {
  testing::internal::CaptureStderr();
  const RanksOutcome outcome =
      run("((RANK > 0)) || until_there told-2; echo no such flag >&2; touch told-$RANK; exit 2", 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "no such flag\n");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.words, "");
}

TEST_F(RunRanks, WrongUsageThatRankZeroDoesNotSayIsTheOthers) {
  const RanksOutcome outcome =
      run("((RANK == 1)) || exec sleep 60; echo bad >&2; exit 2", 2, {}, milliseconds(300));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.words.find("rank 1: bad\n"), std::string::npos) << outcome.words;
}

TEST_F(RunRanks, WhoIgnoresTheRequestToEndIsKilled) {
  const RanksOutcome outcome =
      run("if ((RANK == 1)); then until_there deaf; exit 3; fi; "
          "trap '' TERM; touch deaf; while :; do read -rt 0.1 <> <(:); done",
          2, {}, milliseconds(300));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_LT(seconds_, 20);
}

TEST_F(RunRanks, ASignalEndsAll) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const RanksOutcome outcome =
        run(fmt::format("touch there-$RANK; if ((RANK == 0)); then until_there there-1; "
                        "kill -{} $PPID; fi; exec sleep 60",
                        number),
            2);
    EXPECT_EQ(outcome.exit_code, 128 + number);
    EXPECT_EQ(outcome.words, "ddpprof: train: interrupted; every rank was ended\n");
    EXPECT_LT(seconds_, 20);
  }
}

TEST_F(RunRanks, AnIgnoredSignalStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  const RanksOutcome outcome = run("((RANK > 0)) || kill -HUP $PPID; sleep 0.2", 2);
  std::signal(SIGHUP, SIG_DFL);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.words, "");
}

TEST_F(RunRanks, RanksSeeNoDescriptorOfOurs) {
  run("ls -l /proc/$$/fd > descriptors-$RANK", 2);
  for (const char* name : {"descriptors-0", "descriptors-1"}) {
    EXPECT_EQ(read(name).find("socket:"), std::string::npos) << read(name);
  }
}

TEST_F(RunRanks, AMissingTrainerIsAnError) {
  EXPECT_THROW(run_ranks({}, folder_ / "none", milliseconds(100)), Error);
  EXPECT_THROW(become_trainer({}, folder_ / "none"), Error);
}

TEST(HeldPort, IsFreeForRankZeroAndForNobodyElse) {
  const HeldPort held, other;
  EXPECT_NE(held.number(), other.number());
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(held.number()));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto listens = [&](int reuse) {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    const bool done = bind(descriptor, reinterpret_cast<sockaddr*>(&place), sizeof place) == 0 &&
                      listen(descriptor, 1) == 0;
    close(descriptor);
    return done;
  };
  EXPECT_FALSE(listens(0));
  EXPECT_TRUE(listens(1));
}

}  // namespace
}  // namespace ddpprof

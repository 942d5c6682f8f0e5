// `ddpprof train` as a user meets it, with bash scripts beside it in the trainers' place.
#include "tests/tools/program.h"
#include "tests/tools/script_folder.h"

#include <thread>

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

class TrainCli : public ScriptFolder {
 protected:
  void SetUp() override {
    ScriptFolder::SetUp();
    fs::copy_file(DDPPROF_PROGRAM, folder_ / "ddpprof");
  }

  Outcome train(const std::vector<std::string>& flags, const std::string& trainer) {
    script("ddpprof-train", trainer);
    std::vector<std::string> command = {(folder_ / "ddpprof").string(), "train", "--device", "cpu"};
    command.insert(command.end(), flags.begin(), flags.end());
    return run_program(command);
  }

  // Starts it, does `then` to process $child once both ranks are there, and waits.
  Outcome disturb(const std::string& then) {
    script("ddpprof-train", "touch \"$(dirname \"$0\")/there-$RANK\"; exec sleep 61.7");
    return run_program({"/bin/bash", "-c",
                        "cd \"$0\"; ./ddpprof train --device cpu --strategy ddp & child=$!; until "
                        "[[ -e there-0 && -e there-1 ]]; do sleep 0.02; done; " +
                            then + "; wait $child",
                        folder_.string()});
  }

  static bool is_anybody_left() {
    for (int i = 0; i < 500 && processes_with(sleep_marker()) > 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return processes_with(sleep_marker()) > 0;
  }
  static std::string sleep_marker() {
    return std::string(
        "sleep\0"
        "61.7",
        10);
  }
};

TEST_F(TrainCli, OneProcessBecomesTheTrainer) {
  const Outcome outcome = train({"--steps", "3", "--seed=4", "--trace", "a b"},
                                "echo \"$# $*\"; echo $PPID > /dev/null; kill -USR1 $$");
  EXPECT_EQ(outcome.out, "7 --strategy single --steps 3 --seed=4 --trace a b\n");
  EXPECT_EQ(outcome.exit_code, 128 + 10) << "its own death is ours";
  EXPECT_EQ(outcome.err, "");
}

TEST_F(TrainCli, FlagsOfOursAreTakenWhereverTheyStand) {
  const Outcome outcome =
      train({"--steps", "3", "--strategy", "dp", "list", "--workers", "3"}, "echo \"$*\"");
  EXPECT_EQ(outcome.out, "--strategy dp --workers 3 --steps 3 list\n");
}

TEST_F(TrainCli, RanksGetTheFlagsAndTheExitCodeIsTheirs) {
  const Outcome outcome =
      train({"--strategy", "ddp", "--workers", "3", "--trace", "t-{rank}"},
            "echo \"$RANK of $WORLD_SIZE: $*\"; ((RANK != 1)) || { echo bad >&2; exit 5; }");
  EXPECT_EQ(outcome.out, "0 of 3: --strategy ddp --trace t-{rank}\n");
  EXPECT_EQ(outcome.err,
            "rank 1: 1 of 3: --strategy ddp --trace t-{rank}\nrank 1: bad\n"
            "ddpprof: rank 1: exit code 5; the other ranks were ended\n");
  EXPECT_EQ(outcome.exit_code, 5);
}

TEST_F(TrainCli, WrongUsageIsSaidOnceByWhoKnows) {
  const Outcome trainers =
      train({"--strategy", "ddp", "--stpes", "3"}, "echo 'ddpprof-train: no --stpes' >&2; exit 2");
  EXPECT_EQ(trainers.exit_code, 2);
  EXPECT_EQ(trainers.err, "ddpprof-train: no --stpes\n");
  const Outcome ours = train({"--workers", "many", "--steps", "3"}, "exit 9");
  EXPECT_EQ(ours.exit_code, 2);
  EXPECT_NE(ours.err.find("ddpprof: train: Could not convert: --workers = many"), std::string::npos)
      << ours.err;
  const Outcome link = train({"--strategy", "ddp", "--link", "shm"}, "exit 9");
  EXPECT_EQ(link.exit_code, 2);
  EXPECT_NE(link.err.find("--link shm: is for GPUs alone\n  hint: "), std::string::npos)
      << link.err;
}

TEST_F(TrainCli, HelpHasTheTrainersToo) {
  const Outcome outcome = train({"--help"}, "[[ $* == --help ]] && echo '--all-it-has'");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.out.find("Usage: ddpprof train"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("--strategy"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("as ddpprof-train --help says them:\n\n--all-it-has\n"),
            std::string::npos)
      << outcome.out;
  const Outcome broken = train({"--help"}, "exit 1");
  EXPECT_EQ(broken.exit_code, 0);
  EXPECT_NE(broken.out.find("which fails here"), std::string::npos) << broken.out;
}

TEST_F(TrainCli, ARequestToEndEndsAll) {
  const Outcome outcome = disturb("kill -TERM $child");
  EXPECT_EQ(outcome.exit_code, 128 + 15);
  EXPECT_EQ(outcome.err, "ddpprof: train: interrupted; every rank was ended\n");
  EXPECT_FALSE(is_anybody_left());
}

TEST_F(TrainCli, ControlCOnATerminalEndsAll) {
  script("ddpprof-train", "touch \"$(dirname \"$0\")/there-$RANK\"; exec sleep 61.7");
  // With job control it has a process group of its own, all of which the terminal interrupts.
  const Outcome outcome = run_program(
      {"/bin/bash", "-c",
       "set -m; cd \"$0\"; ./ddpprof train --device cpu --strategy ddp & child=$!; until "
       "[[ -e there-0 && -e there-1 ]]; do sleep 0.02; done; kill -INT -- -$child; wait $child",
       folder_.string()});
  EXPECT_EQ(outcome.exit_code, 128 + 2) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted; every rank was ended"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(is_anybody_left());
}

TEST_F(TrainCli, NobodyIsLeftWhenItIsKilled) {
  EXPECT_EQ(disturb("kill -KILL $child").exit_code, 128 + 9);
  EXPECT_FALSE(is_anybody_left());
}

TEST_F(TrainCli, SaysThatTheTrainerIsNotThere) {
  const Outcome outcome = run_program({(folder_ / "ddpprof").string(), "train", "--device", "cpu"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("ddpprof-train: not found beside ddpprof\n  hint: "),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(run_program({(folder_ / "ddpprof").string(), "train", "--help"}).exit_code, 0);
}

}  // namespace
}  // namespace ddpprof::test

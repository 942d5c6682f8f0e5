// The probe with bash scripts in the trainer's place.
#include "tools/launcher/probe.h"

#include "profiler/trace/error.h"
#include "tests/tools/program.h"
#include "tests/tools/script_folder.h"

#include <thread>

namespace ddpprof {
namespace {

using std::chrono::milliseconds;

constexpr const char* kTrainer = "ddpprof-train-cuda";
constexpr milliseconds kLimit{20'000};
const Probe kTwo = {.devices = {{{"NVIDIA H200", 150'754'820'096, 0}, 4'194'304, 0.5},
                                {{"NVIDIA L4", 24'000'000'000, 1}, {}, {}}},
                    .link = "PCIe",
                    .versions = {{"driver", "580.95"}}};

class ProbeGpus : public test::ScriptFolder {
 protected:
  // Subject, problem and hint of the error.
  std::string failure(const std::string& body, milliseconds limit = kLimit) const {
    try {
      probe_gpus(script(kTrainer, body), limit);
    } catch (const Error& error) {
      return error.subject + ": " + error.problem + " | " + error.hint;
    }
    return "no failure";
  }

  // A killed process that is not our child takes a moment to go.
  static bool all_gone(const std::string& marker) {
    for (int i = 0; i < 500; ++i) {
      if (test::processes_with(marker) == 0) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  static std::string print(const Probe& probe) {
    return "cat <<'LINE'\n" + to_line(probe) + "LINE\n";
  }
};

TEST_F(ProbeGpus, ReadsTheAnswer) {
  EXPECT_EQ(probe_gpus(script(kTrainer, print(kTwo)), kLimit), kTwo);
}

TEST_F(ProbeGpus, AsksWithTheFlagAndNothingElse) {
  EXPECT_EQ(probe_gpus(script(kTrainer, "[[ $* == --probe ]] || exit 9; " + print(kTwo)), kLimit),
            kTwo);
}

TEST_F(ProbeGpus, WhatLibrariesSayOnStderrIsNoFailure) {
  // More than a pipe holds.
  const std::string noise = "yes 'a warning' | head -c 300000 >&2; ";
  EXPECT_EQ(probe_gpus(script(kTrainer, noise + print(kTwo)), kLimit), kTwo);
}

TEST_F(ProbeGpus, AFailureKeepsTheTrainersWords) {
  EXPECT_EQ(failure("echo '[W] some warning' >&2; "
                    "echo 'ddpprof-train-cuda: CUDA: the driver is too old' >&2; "
                    "echo '  hint: update it' >&2; exit 1"),
            "ddpprof-train-cuda --probe: CUDA: the driver is too old | update it");
  const std::string loader = failure("echo 'libcuda.so.1: cannot open' >&2; exit 127");
  EXPECT_NE(loader.find("--probe: libcuda.so.1: cannot open | run it by hand: "), std::string::npos)
      << loader;
  EXPECT_NE(failure("exit 1").find("--probe: exit code 1 |"), std::string::npos);
}

TEST_F(ProbeGpus, ADeathIsNamedWithItsSignal) {
  const std::string text = failure("echo 'about to die' >&2; kill -SEGV $$");
  EXPECT_NE(text.find("killed by signal 11"), std::string::npos) << text;
  EXPECT_NE(text.find("last words: about to die"), std::string::npos) << text;
}

TEST_F(ProbeGpus, AnotherAnswerIsAnErrorThatSaysWhy) {
  for (const std::string body : {"echo hello", "true", "echo '{}'", "echo loading; echo '{}'"}) {
    const std::string text = failure(body);
    EXPECT_NE(text.find("its answer cannot be read: "), std::string::npos) << body << ": " << text;
  }
  const std::string endless = failure("yes", milliseconds(300));
  EXPECT_NE(endless.find("no answer within 0.3 s"), std::string::npos) << endless;
}

TEST_F(ProbeGpus, AHangIsEndedWithAllItStarted) {
  const std::string marker = folder_.string() + "/marker";
  const auto begin = std::chrono::steady_clock::now();
  const std::string text =
      failure("trap '' TERM; echo 'asking the driver' >&2; bash -c 'sleep 100; true' " + marker +
                  "; " + print(kTwo),
              milliseconds(400));
  EXPECT_NE(text.find("no answer within 0.4 s; its last words: asking the driver"),
            std::string::npos)
      << text;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_TRUE(all_gone(marker));
}

TEST_F(ProbeGpus, WhoLeavesSomebodyBehindIsNotWaitedFor) {
  const std::string marker = folder_.string() + "/marker";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(
      probe_gpus(script(kTrainer, "bash -c 'sleep 100; true' " + marker + " & " + print(kTwo)),
                 kLimit),
      kTwo);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_TRUE(all_gone(marker));
}

TEST_F(ProbeGpus, AMissingTrainerIsAnError) {
  EXPECT_THROW(probe_gpus(folder_ / kTrainer, kLimit), Error);
}

}  // namespace
}  // namespace ddpprof

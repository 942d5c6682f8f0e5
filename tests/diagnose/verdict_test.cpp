#include "profiler/diagnose/verdict.h"

#include "profiler/diagnose/comparison.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

StrategyDiagnosis strategy(std::string key, std::int32_t devices, const Rounds& rounds_ms,
                           std::int64_t global_batch = 64) {
  StrategyDiagnosis made;
  made.key = std::move(key);
  made.devices = devices;
  made.global_batch = global_batch;
  made.step_times = StepTimes{.rounds_ms = rounds_ms};
  made.shown.steps_count = 1;
  made.shown.window_ns = static_cast<std::int64_t>(rounds_ms[0][0] * 1e6);
  made.shown.breakdown.add({Phase::backward, Activity::stall, StallKind::host},
                           made.shown.window_ns / 2);
  made.shown.breakdown.add({Phase::forward, Activity::compute, {}},
                           made.shown.window_ns - made.shown.window_ns / 2 - 1000);
  made.shown.breakdown.add({Phase::other, Activity::copy, {}}, 1000);
  return made;
}

Rounds steady(double ms) { return Rounds(3, std::vector<double>(4, ms)); }

std::string verdict_of(std::vector<StrategyDiagnosis> strategies) {
  Diagnosis diagnosis;
  diagnosis.strategies = std::move(strategies);
  diagnosis.comparison = compare_strategies(diagnosis.strategies);
  return write_verdict(diagnosis);
}

TEST(Verdict, SaysHowMuchLongerEachStepTakesThanOnOneDevice) {
  EXPECT_EQ(verdict_of({strategy("single", 1, steady(100)), strategy("dp", 2, steady(152)),
                        strategy("ddp", 2, steady(131))}),
            "A DDP step on 2 devices takes 131 ms against 100 ms on one device: 1.31 times as long "
            "(1.31 to 1.31); a DP step on 2 devices takes 152 ms: 1.52 times as long (1.52 to "
            "1.52); the largest part of the DDP step is stall (host) in backward (50 %); the "
            "largest part of the DP step is stall (host) in backward (50 %).");
}

TEST(Verdict, SaysHowMuchFaster) {
  EXPECT_EQ(verdict_of({strategy("single", 1, steady(100)), strategy("ddp", 2, steady(80))}),
            "A DDP step on 2 devices takes 80.0 ms against 100 ms on one device: 1.25 times as "
            "fast (1.25 to 1.25); the largest part of the DDP step is stall (host) in backward "
            "(50 %).");
}

TEST(Verdict, NamesTheReferenceWithTheFirstThatIsThere) {
  const std::string verdict =
      verdict_of({strategy("single", 1, steady(100)), strategy("dp", 2, steady(152))});
  EXPECT_TRUE(
      verdict.starts_with("A DP step on 2 devices takes 152 ms against 100 ms on one "
                          "device: 1.52 times as long"))
      << verdict;
}

TEST(Verdict, StatesNoDifferenceThatTheIntervalDoesNotSupport) {
  const std::string verdict =
      verdict_of({strategy("single", 1, {{90, 100, 110}, {95, 100, 105}, {92, 101, 107}}),
                  strategy("ddp", 2, {{91, 101, 109}, {94, 102, 106}, {90, 100, 108}})});
  EXPECT_NE(verdict.find("on one device: no difference that these steps can tell (0."),
            std::string::npos)
      << verdict;
}

TEST(Verdict, CallsNothingTheSameThatItCannotTell) {
  const std::string verdict =
      verdict_of({strategy("single", 1, {{40, 100, 300}, {30, 110, 350}, {50, 90, 280}}),
                  strategy("ddp", 2, {{60, 300, 400}, {20, 80, 500}, {35, 280, 300}})});
  EXPECT_EQ(verdict.find("no difference"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find(" times as long, which is too wide to tell"), std::string::npos)
      << verdict;
}

TEST(Verdict, SpeaksOfSamplesWhereTheBatchesDiffer) {
  const std::string verdict =
      verdict_of({strategy("single", 1, steady(100), 64), strategy("ddp", 2, steady(100), 128)});
  EXPECT_NE(verdict.find("2.00 times as fast per sample (2.00 to 2.00)"), std::string::npos)
      << verdict;
}

TEST(Verdict, AdmitsThatTooFewStepsGiveNoInterval) {
  const std::string verdict =
      verdict_of({strategy("single", 1, {{100}}), strategy("ddp", 2, {{120}})});
  EXPECT_NE(verdict.find("about 1.20 times as long (too few steps for an interval)"),
            std::string::npos)
      << verdict;
}

TEST(Verdict, ComparesTheTwoWhereNothingRanOnOneDevice) {
  const std::string verdict =
      verdict_of({strategy("dp", 2, steady(200)), strategy("ddp", 2, steady(100))});
  EXPECT_NE(verdict.find("takes 100 ms against 200 ms under DP: 2.00 times as fast ("),
            std::string::npos)
      << verdict;
}

TEST(Verdict, OfOneStrategyAloneSaysWhatItsStepIsBoundBy) {
  EXPECT_EQ(verdict_of({strategy("ddp", 2, steady(28.1))}),
            "A DDP step on 2 devices takes 28.1 ms; the largest part of the DDP step is stall "
            "(host) in backward (50 %).");
}

TEST(Verdict, OfOneDeviceAloneNamesNoStrategy) {
  EXPECT_EQ(verdict_of({strategy("single", 1, steady(3))}),
            "A step on one device takes 3.00 ms; the largest part of the one-device step is stall "
            "(host) in backward (50 %).");
}

TEST(Verdict, NamesThePhaseWherePhasesAloneWereTimed) {
  StrategyDiagnosis ddp = strategy("ddp", 2, steady(28.1));
  ddp.shown.breakdown = {};
  ddp.shown.breakdown.add({Phase::forward, {}, {}}, 39);
  ddp.shown.breakdown.add({Phase::backward, {}, {}}, 61);
  EXPECT_EQ(verdict_of({ddp}),
            "A DDP step on 2 devices takes 28.1 ms; the largest part of the DDP step is backward "
            "(61 %).");
  ddp.shown.breakdown.add({Phase::other, {}, {}}, 100);
  EXPECT_EQ(verdict_of({ddp}),
            "A DDP step on 2 devices takes 28.1 ms; the largest part of the DDP step is time in no "
            "phase (50 %).");
}

TEST(Verdict, IsNeverEmpty) { EXPECT_EQ(write_verdict({}), "Nothing was measured."); }

}  // namespace
}  // namespace ddpprof

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

TEST(Verdict, SaysHowMuchSlowerEachStrategyIsThanOneDevice) {
  EXPECT_EQ(verdict_of({strategy("single", 1, steady(100)), strategy("dp", 2, steady(152)),
                        strategy("ddp", 2, steady(131))}),
            "DDP on 2 devices takes 1.31 times as long a step as one device (1.31 to 1.31), so "
            "each of its devices does 38 % of the work of one alone; DP on 2 devices takes 1.52 "
            "times as long a step as one device (1.52 to 1.52), so each of its devices does 33 % "
            "of the work of one alone; the largest part of a step of DP on 2 devices is stall "
            "(host) in backward, 50 %.");
}

TEST(Verdict, SaysHowMuchFaster) {
  EXPECT_EQ(verdict_of({strategy("single", 1, steady(100)), strategy("ddp", 2, steady(80))}),
            "DDP on 2 devices is 1.25 times as fast as one device (1.25 to 1.25), so each of its "
            "devices does 62 % of the work of one alone; the largest part of a step of DDP on 2 "
            "devices is stall (host) in backward, 50 %.");
}

TEST(Verdict, StatesNoDifferenceThatTheIntervalDoesNotSupport) {
  const std::string verdict =
      verdict_of({strategy("single", 1, {{90, 100, 110}, {95, 100, 105}, {92, 101, 107}}),
                  strategy("ddp", 2, {{91, 101, 109}, {94, 102, 106}, {90, 100, 108}})});
  EXPECT_NE(verdict.find("DDP on 2 devices is neither faster nor slower than one device as far as "
                         "these steps can tell: it takes 1.01 times as long a step ("),
            std::string::npos)
      << verdict;
}

TEST(Verdict, SpeaksOfSamplesWhereTheBatchesDiffer) {
  const std::string verdict =
      verdict_of({strategy("single", 1, steady(100), 64), strategy("ddp", 2, steady(100), 128)});
  EXPECT_NE(verdict.find("DDP on 2 devices is 2.00 times as fast as one device per sample ("),
            std::string::npos)
      << verdict;
}

TEST(Verdict, AdmitsThatTooFewStepsGiveNoInterval) {
  const std::string verdict =
      verdict_of({strategy("single", 1, {{100}}), strategy("ddp", 2, {{120}})});
  EXPECT_NE(verdict.find("takes about 1.20 times as long a step as one device (too few steps for "
                         "an interval)"),
            std::string::npos)
      << verdict;
}

TEST(Verdict, ComparesTheTwoWhereNothingRanOnOneDevice) {
  const std::string verdict =
      verdict_of({strategy("dp", 2, steady(200)), strategy("ddp", 2, steady(100))});
  EXPECT_NE(verdict.find("DDP on 2 devices is 2.00 times as fast as DP on 2 devices ("),
            std::string::npos)
      << verdict;
}

TEST(Verdict, OfOneStrategyAloneSaysWhatItsStepIsBoundBy) {
  EXPECT_EQ(verdict_of({strategy("ddp", 2, steady(28.1))}),
            "A step of DDP on 2 devices takes 28.10 ms; the largest part of a step of DDP on 2 "
            "devices is stall (host) in backward, 50 %.");
}

TEST(Verdict, OfOneDeviceAloneNamesNoStrategy) {
  EXPECT_EQ(verdict_of({strategy("single", 1, steady(3))}),
            "A step on one device takes 3.00 ms; the largest part of a step on one device is stall "
            "(host) in backward, 50 %.");
}

TEST(Verdict, IsNeverEmpty) { EXPECT_EQ(write_verdict({}), "Nothing was measured."); }

}  // namespace
}  // namespace ddpprof

#include "profiler/diagnose/comparison.h"

#include "profiler/diagnose/step_times.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

StrategyDiagnosis strategy(std::string key, std::int32_t devices, double step_ms,
                           std::optional<std::int64_t> global_batch = 64) {
  StrategyDiagnosis made;
  made.key = std::move(key);
  made.devices = devices;
  made.global_batch = global_batch;
  made.step_times = StepTimes{.rounds_ms = Rounds(3, std::vector<double>(4, step_ms))};
  return made;
}

TEST(Comparison, IsOfStepTimesPerSample) {
  const auto comparison = compare_strategies(
      {strategy("single", 1, 100, 64), strategy("dp", 2, 200, 64), strategy("ddp", 2, 150, 128)});
  EXPECT_DOUBLE_EQ(comparison.dp_over_single->value, 2);
  EXPECT_DOUBLE_EQ(comparison.ddp_over_single->value, 0.75);
  EXPECT_DOUBLE_EQ(comparison.ddp_over_dp->value, 0.375);
  EXPECT_EQ(comparison.ddp_over_single->ci95, (Interval{0.75, 0.75}));
}

TEST(Comparison, EfficiencyIsWorkPerDeviceAgainstOneDevice) {
  const auto comparison = compare_strategies({strategy("single", 1, 100), strategy("ddp", 4, 50)});
  EXPECT_DOUBLE_EQ(comparison.ddp_efficiency->value, 0.5);
  EXPECT_EQ(comparison.ddp_efficiency->ci95, (Interval{0.5, 0.5}));
  EXPECT_FALSE(comparison.dp_efficiency);
  EXPECT_FALSE(comparison.dp_over_single);
}

TEST(Comparison, TurnsTheIntervalOfARatioAroundForEfficiency) {
  auto single = strategy("single", 1, 100), ddp = strategy("ddp", 2, 100);
  ddp.step_times->rounds_ms = {{90, 95, 100}, {100, 105, 99}, {110, 100, 104}};
  const auto comparison = compare_strategies({single, ddp});
  const Interval ratio = comparison.ddp_over_single->ci95.value();
  ASSERT_LT(ratio.lo, ratio.hi);
  EXPECT_DOUBLE_EQ(comparison.ddp_efficiency->ci95->lo, 0.5 / ratio.hi);
  EXPECT_DOUBLE_EQ(comparison.ddp_efficiency->ci95->hi, 0.5 / ratio.lo);
}

TEST(Comparison, IsAbsentWhereABatchIsNotKnown) {
  const auto comparison =
      compare_strategies({strategy("single", 1, 100, std::nullopt), strategy("ddp", 2, 100)});
  EXPECT_FALSE(comparison.ddp_over_single);
  EXPECT_FALSE(comparison.ddp_efficiency);
}

TEST(Comparison, IsAbsentBetweenARecordedAndAnUnrecordedTime) {
  auto single = strategy("single", 1, 100);
  single.step_times->recorded = true;
  EXPECT_FALSE(compare_strategies({single, strategy("ddp", 2, 100)}).ddp_over_single);
}

TEST(Comparison, UsesTheRoundsThatBothStrategiesHave) {
  auto single = strategy("single", 1, 100), ddp = strategy("ddp", 2, 200);
  ddp.step_times->rounds_ms.pop_back();
  single.step_times->rounds_ms[2] = {1000};
  EXPECT_DOUBLE_EQ(compare_strategies({single, ddp}).ddp_over_single->value, 2);
}

TEST(Overhead, IsRecordedOverUnrecordedLessOne) {
  StrategyInput input;
  input.unrecorded_ms = Rounds{{10, 10, 10}, {20, 20, 20}};
  EXPECT_FALSE(estimate_overhead(input)) << "nothing to compare with";
  input.recorded_ms = Rounds{{11, 11, 11}, {22, 22, 22}};
  const auto overhead = estimate_overhead(input);
  ASSERT_TRUE(overhead);
  EXPECT_NEAR(overhead->value, 0.1, 1e-12);
  EXPECT_NEAR(overhead->ci95->lo, 0.1, 1e-12);
  EXPECT_NEAR(overhead->ci95->hi, 0.1, 1e-12);
}

}  // namespace
}  // namespace ddpprof

#include "tools/compare/turns.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kMs = 1'000'000;

TEST(StepTimes, AreTheDistancesBetweenTheLastArrivals) {
  // Rank 1 is late in step 1, rank 0 in step 2.
  const auto times = step_times_ms({{0, 10 * kMs, 24 * kMs}, {1 * kMs, 13 * kMs, 23 * kMs}});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_DOUBLE_EQ(times[0], 12);
  EXPECT_DOUBLE_EQ(times[1], 11);
}

TEST(StepTimes, SumToTheTimeOfTheVisit) {
  const auto times = step_times_ms({{5 * kMs, 6 * kMs, 9 * kMs, 20 * kMs}});
  EXPECT_DOUBLE_EQ(times[0] + times[1] + times[2], 15);
}

TEST(StepTimes, NeedAStep) { EXPECT_THROW(step_times_ms({{1}}), std::logic_error); }

TEST(TurnOrder, IsMirroredInOddRounds) {
  EXPECT_EQ(turn_order(3, 0), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(turn_order(3, 1), (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_EQ(turn_order(3, 2), (std::vector<std::size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace ddpprof

#include "trainers/common/schedule.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

double factor(ScheduleKind kind, std::int64_t warmup_steps, std::int64_t step) {
  return learning_rate_factor({.kind = kind, .warmup_steps = warmup_steps, .total_steps = {}}, 100,
                              step);
}

TEST(Schedule, WithoutOneTheRateStays) {
  for (const std::int64_t step : {0, 50, 99, 1000}) {
    EXPECT_EQ(factor(ScheduleKind::constant, 0, step), 1);
  }
}

TEST(Schedule, WarmUpRisesToTheFullRate) {
  for (const ScheduleKind kind :
       {ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine}) {
    EXPECT_DOUBLE_EQ(factor(kind, 20, 0), 0.05);
    EXPECT_DOUBLE_EQ(factor(kind, 20, 9), 0.5);
    EXPECT_DOUBLE_EQ(factor(kind, 20, 19), 1);
    EXPECT_DOUBLE_EQ(factor(kind, 20, 20), 1);
  }
}

TEST(Schedule, FallsToNothingAtItsEnd) {
  EXPECT_DOUBLE_EQ(factor(ScheduleKind::linear, 20, 60), 0.5);
  EXPECT_DOUBLE_EQ(factor(ScheduleKind::cosine, 20, 60), 0.5);
  EXPECT_DOUBLE_EQ(factor(ScheduleKind::linear, 20, 40), 0.75);
  EXPECT_NEAR(factor(ScheduleKind::cosine, 20, 40), 0.853553, 1e-6);  // (1 + cos(pi / 4)) / 2
  for (const ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
    EXPECT_EQ(factor(kind, 20, 100), 0);
    EXPECT_EQ(factor(kind, 20, 5000), 0);
    EXPECT_GT(factor(kind, 20, 99), 0);
  }
}

TEST(Schedule, AWarmUpLongerThanTheRunNeverFalls) {
  EXPECT_DOUBLE_EQ(factor(ScheduleKind::linear, 200, 99), 0.5);
  EXPECT_EQ(factor(ScheduleKind::linear, 200, 200), 0) << "past the end of the run";
}

}  // namespace
}  // namespace ddpprof

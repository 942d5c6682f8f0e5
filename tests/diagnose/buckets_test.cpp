#include "profiler/diagnose/buckets.h"

#include "tests/diagnose/ranks.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

std::vector<BucketFigures> buckets_of(const Run& run) {
  return find_buckets(measure_run(run, "ddp"), run);
}

CollectiveOptions bucket(std::int32_t index, std::int64_t bytes, std::int64_t sequence,
                         std::vector<std::int64_t> ready) {
  return {.sequence = sequence, .bytes = bytes, .bucket = index, .ready_columns = std::move(ready)};
}

TEST(Buckets, AreMeansOverStepsFromTheBeginOfTheWindow) {
  const auto buckets = buckets_of(ranks({draw_on_threads(
      {steps("0000000011111111"), collectives("..##............", bucket(0, 64, 0, {1})),
       collectives("...........####.", bucket(0, 64, 1, {10}))})}));
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_EQ(buckets[0].index, 0);
  EXPECT_EQ(buckets[0].bytes, 64);
  EXPECT_DOUBLE_EQ(buckets[0].ready_ms, 0.0015);
  EXPECT_DOUBLE_EQ(buckets[0].queued_ms, 0.001);
  EXPECT_DOUBLE_EQ(buckets[0].start_ms, 0.0025);
  EXPECT_DOUBLE_EQ(buckets[0].end_ms, 0.0055);
}

TEST(Buckets, OfTheFirstIterationAreNotMixedWithThoseBuiltAnew) {
  const auto buckets = buckets_of(ranks({draw_on_threads(
      {steps("0000000011111111"), collectives(".######.........", bucket(0, 96, 0, {1})),
       collectives(".........##.....", bucket(0, 64, 1, {9})),
       collectives("............##..", bucket(1, 32, 2, {11}))})}));
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_EQ(buckets[0].bytes, 64);
  EXPECT_DOUBLE_EQ(buckets[0].start_ms, 0.001);
  EXPECT_EQ(buckets[1].index, 1);
  EXPECT_EQ(buckets[1].bytes, 32);
}

TEST(Buckets, AreThoseOfTheCriticalRankOfEachStep) {
  const auto buckets = buckets_of(ranks({
      draw_on_threads({steps("00000000"), collectives(".#######", bucket(0, 64, 0, {0}))}),
      draw_on_threads({steps("00000000"), collectives(".....###", bucket(0, 64, 0, {4}))}),
  }));
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_DOUBLE_EQ(buckets[0].start_ms, 0.005);
}

TEST(Buckets, ReducedSeveralTimesInAStepCountWithTheLast) {
  const auto buckets = buckets_of(ranks(
      {draw_on_threads({steps("00000000"), collectives(".##.##..", bucket(0, 64, 0, {1, 4}))})}));
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_DOUBLE_EQ(buckets[0].start_ms, 0.004);
}

TEST(Buckets, AreEmptyWhereNobodyToldWhenTheyWereReady) {
  EXPECT_TRUE(
      buckets_of(ranks({draw_on_threads({steps("0000"), collectives(".##.", {.bucket = 0})})}))
          .empty());
}

}  // namespace
}  // namespace ddpprof::test

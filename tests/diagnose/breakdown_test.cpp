#include "profiler/diagnose/breakdown.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr Label kForwardCompute{Phase::forward, Activity::compute, {}};
constexpr Label kForwardHost{Phase::forward, Activity::stall, StallKind::host};
constexpr Label kBackwardHost{Phase::backward, Activity::stall, StallKind::host};
constexpr Label kGraphOnly{Phase::graph, {}, {}};
constexpr Label kDataWait{Phase::data, Activity::stall, {}};

TEST(Breakdown, SumsByPhaseByActivityAndInAll) {
  Breakdown table;
  table.add(kForwardCompute, 5);
  table.add(kForwardHost, 3);
  table.add(kBackwardHost, 2);
  table.add(kDataWait, 7);
  table.add(kGraphOnly, 1);
  table.add(kForwardCompute, 1);
  EXPECT_EQ(table[kForwardCompute], 6);
  EXPECT_EQ(table.of(Phase::forward), 9);
  EXPECT_EQ(table.of(Phase::graph), 1);
  EXPECT_EQ(table.of(Activity::stall), 12);
  EXPECT_EQ(table.of(Activity::copy), 0);
  EXPECT_EQ(table.total_ns(), 19);
}

TEST(Breakdown, KeepsAStallWithoutKindApartFromOneWith) {
  Breakdown table;
  table.add({Phase::data, Activity::stall, StallKind::host}, 4);
  EXPECT_EQ(table[kDataWait], 0);
  EXPECT_EQ((table[{Phase::data, {}, {}}]), 0);
}

TEST(Breakdown, ListsWhatIsNotZeroInTheOrderOfTheEnumerationsAbsentLast) {
  Breakdown table;
  table.add(kGraphOnly, 1);
  table.add(kBackwardHost, 1);
  table.add(kForwardHost, 1);
  table.add({Phase::forward, Activity::stall, {}}, 1);
  table.add({Phase::forward, Activity::stall, StallKind::queued}, 1);
  table.add(kForwardCompute, 1);
  table.add(kDataWait, 0);
  EXPECT_EQ(table.labels(),
            (std::vector<Label>{kForwardCompute,
                                {Phase::forward, Activity::stall, StallKind::queued},
                                kForwardHost,
                                {Phase::forward, Activity::stall, {}},
                                kBackwardHost,
                                kGraphOnly}));
}

TEST(Breakdown, OfManyStepsIsTheSumOfTheirs) {
  Breakdown one, two;
  one.add(kForwardCompute, 5);
  two.add(kForwardCompute, 6);
  two.add(kBackwardHost, 1);
  one.add(two);
  EXPECT_EQ(one[kForwardCompute], 11);
  EXPECT_EQ(one.total_ns(), 12);
}

TEST(Breakdown, OfSegmentsIsTheSumOfTheirLengths) {
  const std::vector<Segment> segments{
      {{0, 4}, kForwardCompute}, {{4, 9}, kForwardHost}, {{9, 10}, kForwardCompute}};
  const Breakdown table = break_down(segments);
  EXPECT_EQ(table[kForwardCompute], 5);
  EXPECT_EQ(table[kForwardHost], 5);
  EXPECT_EQ(table.total_ns(), 10);
}

}  // namespace
}  // namespace ddpprof

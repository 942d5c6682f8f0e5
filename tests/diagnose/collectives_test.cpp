// What part of a collective was waiting: profiler/README.md, "A collective's duration contains
// waiting".
#include "profiler/diagnose/collectives.h"

#include "tests/diagnose/ranks.h"
#include "tests/support/draw.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

using Timings = std::vector<std::optional<CollectiveTiming>>;

CollectiveTiming us(std::int64_t wait, std::int64_t transfer) {
  return {wait * kColumnNs, transfer * kColumnNs};
}

std::int64_t count_of(const std::vector<Issue>& issues, const std::string& code) {
  const auto found = std::ranges::find(issues, code, &Issue::code);
  return found == issues.end() ? 0 : found->count;
}

TEST(Collectives, TheFirstToArriveWaitsForTheLast) {
  const auto matched = match_collectives(ranks({draw({collectives("..######")}),  //
                                                draw({collectives(".....###")})}));
  EXPECT_TRUE(matched.are_known);
  EXPECT_EQ(matched.timings[0], Timings{us(3, 3)});
  EXPECT_EQ(matched.timings[1], Timings{us(0, 3)});
  EXPECT_TRUE(matched.issues.empty());
}

TEST(Collectives, NobodyWaitsLongerThanItsOwnDuration) {
  auto run = ranks({draw({collectives("..###...")}), draw({collectives("......##")})});
  run.ranks[0].info.clock_uncertainty_ns = 2 * kColumnNs;
  const auto matched = match_collectives(run);
  EXPECT_EQ(matched.timings[0], Timings{us(3, 0)});
  EXPECT_EQ(matched.timings[1], Timings{us(0, 2)});
}

TEST(Collectives, ThatEndedBeforeTheyBeganElsewhereAreDroppedAndCounted) {
  const auto matched = match_collectives(ranks({draw({collectives("..###...")}),  //
                                                draw({collectives("......##")})}));
  EXPECT_FALSE(matched.are_known);
  EXPECT_EQ(matched.timings[0], Timings{std::nullopt});
  EXPECT_EQ(count_of(matched.issues, "collective-impossible"), 2);
}

TEST(Collectives, ThatOneRankLacksAreDroppedAndCounted) {
  const auto matched = match_collectives(ranks({draw({collectives("aa.bb...")}),  //
                                                draw({collectives(".a......")})}));
  EXPECT_EQ(matched.timings[0], (Timings{us(1, 1), std::nullopt}));
  EXPECT_EQ(matched.timings[1], Timings{us(0, 1)});
  EXPECT_EQ(count_of(matched.issues, "collective-unmatched"), 1);
}

TEST(Collectives, DoNotMatchWhenBytesKindOrCommunicatorDiffer) {
  const auto unmatched = [](const CollectiveOptions& other) {
    const auto matched =
        match_collectives(ranks({draw({collectives("##..")}), draw({collectives("##..", other)})}));
    return count_of(matched.issues, "collective-unmatched");
  };
  EXPECT_EQ(unmatched({}), 0);
  EXPECT_EQ(unmatched({.bytes = 2048}), 2);
  EXPECT_EQ(unmatched({.kind = CollectiveKind::all_gather}), 2);
  EXPECT_EQ(unmatched({.sequence = 5}), 2);
}

TEST(Collectives, OfASubgroupNeedOnlyItsMembers) {
  const CollectiveOptions group{.communicator = "pair"};
  const auto matched = match_collectives(ranks({draw({collectives("####", group)}),  //
                                                draw({}),                            //
                                                draw({collectives(".###", group)})}));
  EXPECT_EQ(matched.timings[0], Timings{us(1, 3)});
  EXPECT_EQ(matched.timings[2], Timings{us(0, 3)});
}

TEST(Collectives, WithoutSequenceNumbersMatchInOrderWhenBothSidesHaveAsMany) {
  auto run = ranks({draw({collectives("aa..bb..")}), draw({collectives(".a...b..")})});
  for (Trace& trace : run.ranks) {
    for (Collective& collective : trace.collectives) collective.sequence = 0;
  }
  auto matched = match_collectives(run);
  EXPECT_EQ(matched.timings[0], (Timings{us(1, 1), us(1, 1)}));
  run.ranks[1].collectives.pop_back();
  matched = match_collectives(run);
  EXPECT_EQ(count_of(matched.issues, "collective-unmatched"), 3) << "which two belong together?";
}

TEST(Collectives, InABroadcastTheReceiverWaitsForTheRootAndTheRootForNobody) {
  const CollectiveOptions broadcast{.kind = CollectiveKind::broadcast, .root = 0};
  auto matched = match_collectives(
      ranks({draw({collectives("....####", broadcast)}), draw({collectives("..######", broadcast)}),
             draw({collectives(".....###", broadcast)})}));
  EXPECT_EQ(matched.timings[0], Timings{us(0, 4)});
  EXPECT_EQ(matched.timings[1], Timings{us(2, 4)});
  EXPECT_EQ(matched.timings[2], Timings{us(0, 3)});
}

TEST(Collectives, InAReduceTheRootWaitsForTheLastSenderAndSendersForNobody) {
  const CollectiveOptions reduce{.kind = CollectiveKind::reduce, .root = 1};
  auto matched = match_collectives(
      ranks({draw({collectives("..##....", reduce)}), draw({collectives(".#######", reduce)}),
             draw({collectives(".....##.", reduce)})}));
  EXPECT_EQ(matched.timings[0], Timings{us(0, 2)});
  EXPECT_EQ(matched.timings[1], Timings{us(4, 3)});
  EXPECT_EQ(matched.timings[2], Timings{us(0, 2)});
}

TEST(Collectives, WithARootNobodyNamesAreDroppedAndCounted) {
  const CollectiveOptions broadcast{.kind = CollectiveKind::broadcast};
  const auto matched = match_collectives(
      ranks({draw({collectives("##", broadcast)}), draw({collectives("##", broadcast)})}));
  EXPECT_FALSE(matched.are_known);
  EXPECT_EQ(count_of(matched.issues, "collective-untimed"), 2);
}

TEST(Collectives, AReceiverWaitsForItsSender) {
  const auto matched =
      match_collectives(ranks({draw({collectives("...##", {.kind = CollectiveKind::send})}),
                               draw({collectives(".####", {.kind = CollectiveKind::receive})})}));
  EXPECT_EQ(matched.timings[0], Timings{us(0, 2)});
  EXPECT_EQ(matched.timings[1], Timings{us(2, 2)});
}

TEST(Collectives, OfOneProcessMatchAcrossItsDevices) {
  const CollectiveOptions root{.kind = CollectiveKind::broadcast, .root = 0, .device = 0};
  CollectiveOptions receiver = root;
  receiver.device = 1;
  const auto matched =
      match_collectives(ranks({draw({collectives("..##", root), collectives("####", receiver)})}));
  EXPECT_EQ(matched.timings[0], (Timings{us(0, 2), us(2, 2)}));
}

TEST(Collectives, WithoutACommonClockTransferForTheShortestDurationAndSaySo) {
  auto run = ranks({draw({collectives("######")}), draw({collectives("..##....")})});
  run.ranks[1].info.boot_id = "another boot";
  const auto matched = match_collectives(run);
  EXPECT_EQ(matched.timings[0], Timings{us(4, 2)});
  EXPECT_EQ(matched.timings[1], Timings{us(0, 2)});
  EXPECT_EQ(count_of(matched.issues, "no-common-clock"), 1);
}

TEST(Collectives, AcrossHostsUseTheClockWhoseUncertaintyWasMeasured) {
  auto run = ranks({draw({collectives("######")}), draw({collectives("..####")})});
  run.ranks[1].info.boot_id = "another boot";
  run.ranks[0].info.clock_uncertainty_ns = 10;
  run.ranks[1].info.clock_uncertainty_ns = 500;
  const auto matched = match_collectives(run);
  EXPECT_EQ(matched.timings[0], Timings{us(2, 4)});
  EXPECT_EQ(matched.uncertainty_ns, 500);
  EXPECT_TRUE(matched.issues.empty());
}

TEST(Collectives, OfDevicesErrByBothTheirTimesButHaveNoCommonClockForThat) {
  auto run = ranks({draw({collectives("######")}), draw({collectives("..##....")})});
  run.ranks[0].info.device_clock_uncertainty_ns = 10;
  run.ranks[1].info.device_clock_uncertainty_ns = 30;
  EXPECT_EQ(match_collectives(run).uncertainty_ns, 40);
  EXPECT_EQ(count_of(match_collectives(run).issues, "no-common-clock"), 0) << "one boot";
  run.ranks[1].info.boot_id = "another boot";
  EXPECT_EQ(count_of(match_collectives(run).issues, "no-common-clock"), 1);
}

TEST(Collectives, KnowNoWaitWhenARankIsMissing) {
  auto run = ranks({draw({collectives("####")}), draw({collectives("..##")})});
  run.ranks.pop_back();
  const auto matched = match_collectives(run);
  EXPECT_FALSE(matched.are_known);
  EXPECT_EQ(count_of(matched.issues, "rank-missing"), 1);
}

}  // namespace
}  // namespace ddpprof::test

// Devices that are host threads: profiler/README.md, "Devices that are threads". In the pictures:
// # compute, = communication, w a wait, which has no kind.
#include "profiler/diagnose/timeline.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

struct Pictures {
  std::string activities, phases;
  bool operator==(const Pictures&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Pictures& pictures) {
  return out << "\n  " << pictures.activities << "\n  " << pictures.phases;
}

Pictures label(const std::vector<Row>& rows, std::size_t device = 0) {
  const auto timeline = find_timelines(draw_on_threads(rows))[device];
  return {draw_activities(timeline.segments), draw_phases(timeline.segments)};
}

constexpr bool kComputes = true;

Row computing(Phase phase, std::string picture, std::string thread = "main") {
  return scopes(phase, std::move(picture), {.thread = std::move(thread), .computes = kComputes});
}

Row measured(Phase phase, std::string picture, std::int64_t cpu_us) {
  return scopes(phase, std::move(picture), {.computes = kComputes, .cpu_us = cpu_us});
}

TEST(ThreadTimeline, ComputesInsideScopesThatSaySo) {
  EXPECT_EQ(
      label({steps("0000000000"),                //
             scopes(Phase::data, "##........"),  //
             computing(Phase::forward, "..###....."), computing(Phase::backward, "......###.")}),
      (Pictures{"ww###w###w",  //
                "ddfffxbbbx"}));
}

TEST(ThreadTimeline, CommunicatesWhileGlooIsInFlightAndTheRankWaits) {
  EXPECT_EQ(
      label({steps("0000000000"),                                                                //
             computing(Phase::backward, "#####....."), scopes(Phase::all_reduce, ".....###.."),  //
             collectives("...#####.."),                                                          //
             computing(Phase::optimizer, "........##")}),
      (Pictures{"#####===##",  //
                "bbbbbaaaoo"}));
}

TEST(ThreadTimeline, WaitsInAScopeNestedInAComputingOneThatDoesNotCompute) {
  EXPECT_EQ(
      label({steps("0000000000"),  //
             computing(Phase::backward, "##########"), scopes(Phase::backward, "....####..")}),
      (Pictures{"####wwww##",  //
                "bbbbbbbbbb"}));
}

TEST(ThreadTimeline, ComputesInANestedScopeUntilItsScopeStopsComputing) {
  EXPECT_EQ(label({steps("00000000"),                    //
                   scopes(Phase::backward, "########"),  //
                   computing(Phase::backward, "#####..."), collectives("......#.")}),
            (Pictures{"#####w=w",  //
                      "bbbbbbab"}));
}

TEST(ThreadTimeline, GivesACollectiveThatIsNotOfGradientsThePhaseItWasReadyIn) {
  EXPECT_EQ(label({steps("000000"),                   //
                   scopes(Phase::forward, "###..."),  //
                   scopes(Phase::loss, "...###"),     //
                   collectives("..###.", {.kind = CollectiveKind::broadcast,
                                          .gradient = false,
                                          .ready_columns = {1}})}),
            (Pictures{"ww===w",  //
                      "fffffl"}));
}

TEST(ThreadTimeline, BooksTimeWithoutACoreAsAWaitAtTheEndOfTheScope) {
  EXPECT_EQ(label({steps("00000000"), measured(Phase::forward, "########", 6)}),
            (Pictures{"######ww",  //
                      "ffffffff"}));
}

TEST(ThreadTimeline, CountsOnlyAScopesOwnTimeAndOwnCpuTime) {
  // Outer: 10 us, 7 us CPU; inner: 4 us, 3 us CPU. So the outer computes 4 of its own 6 us.
  EXPECT_EQ(label({steps("0000000000"), measured(Phase::forward, "##########", 7),
                   measured(Phase::data, "..####....", 3)}),
            (Pictures{"#####w##ww",  //
                      "ffddddffff"}));
}

TEST(ThreadTimeline, TakesALongDeficitFromSeveralPiecesOfAScope) {
  EXPECT_EQ(label({steps("0000000000"), measured(Phase::forward, "##########", 5),
                   measured(Phase::data, "..####....", 4)}),
            (Pictures{"#w####wwww",  //
                      "ffddddffff"}));
}

TEST(ThreadTimeline, KeepsAllComputeWhereCpuTimeIsNotKnownOrMoreThanTheWall) {
  EXPECT_EQ(label({steps("000000"), measured(Phase::forward, "######", 9)}).activities, "######");
  EXPECT_EQ(label({steps("000000"), measured(Phase::forward, "######", 2),
                   computing(Phase::loss, ".##...")})
                .activities,
            "######")
      << "what the inner scope used is not known";
}

TEST(ThreadTimeline, CommunicatesWhileGlooIsInFlightAndTheThreadHasNoCore) {
  EXPECT_EQ(
      label({steps("00000000"), measured(Phase::backward, "######..", 4), collectives("...####.")}),
      (Pictures{"####===w",  //
                "bbbbaaax"}));
}

TEST(ThreadTimeline, OfDataParallelIsMainWithReplicaZeroAndTheOtherReplicasAlone) {
  const std::vector<Row> rows{steps("000000000000"),  //
                              computing(Phase::scatter, "##.........."),
                              scopes(Phase::forward, "..######...."),
                              computing(Phase::forward, "...##.......", "replica 0"),
                              computing(Phase::forward, "...####.....", "replica 1"),
                              computing(Phase::gather, "........##..")};
  EXPECT_EQ(label(rows, 0), (Pictures{"##w##www##ww",  //
                                      "ssffffffggxx"}));
  EXPECT_EQ(label(rows, 1), (Pictures{"www####wwwww",  //
                                      "ssffffffggxx"}));
}

TEST(ThreadTimeline, OfDeviceZeroComputesWhenEitherThreadDoes) {
  EXPECT_EQ(label({steps("00000000"),  //
                   computing(Phase::forward, "..####..", "replica 0"),
                   computing(Phase::gather, "....##.."), computing(Phase::data, "##......")}),
            (Pictures{"######ww",  //
                      "ddffffxx"}));
}

TEST(ThreadTimeline, KnowsAReplicaByAllItsThreadsWhichAreFreshEachStep) {
  EXPECT_EQ(label({steps("00001111"),  //
                   computing(Phase::forward, ".##.....", "replica 1 of step 0"),
                   computing(Phase::forward, ".....##.", "replica 1 of step 1")},
                  1)
                .activities,
            "w##ww##w");
}

TEST(ThreadTimeline, LeavesThreadsThatWorkForNoDeviceAside) {
  EXPECT_EQ(label({steps("0000"), computing(Phase::data, "####", "loader"),
                   computing(Phase::forward, ".##.")})
                .activities,
            "w##w");
}

TEST(ThreadTimeline, StallsInThePhaseOfItsOwnThreadBeforeTheLoops) {
  EXPECT_EQ(label({steps("000000"),                   //
                   scopes(Phase::forward, "######"),  //
                   scopes(Phase::loss, "..##..", {.thread = "replica 1"})},
                  1),
            (Pictures{"wwwwww",  //
                      "ffllff"}));
}

}  // namespace
}  // namespace ddpprof::test

// What a device waits for while nothing runs: profiler/README.md, "One label a nanosecond". In the
// pictures: q queued, h host, s sync, l latency.
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
  Trace trace = draw(rows);
  if (device > 0) trace.info.devices.resize(device + 1);
  const auto timeline = find_timelines(trace)[device];
  return {draw_activities(timeline.segments), draw_phases(timeline.segments)};
}

TEST(Stall, IsQueuedInThePhaseOfTheNextWorkWhenItsLaunchHadReturned) {
  EXPECT_EQ(label({steps("0000000000"),                    //
                   scopes(Phase::forward, "###......."),   //
                   scopes(Phase::backward, "...#######"),  //
                   calls("ab........"),                    //
                   work(Activity::compute, ".aaa...bbb")}),
            (Pictures{"h###qqq###",  //
                      "ffffffffff"}));
}

TEST(Stall, IsTheHostsUpToTheReturnOfTheLaunchInThePhasesTheThreadIsInThenLatency) {
  EXPECT_EQ(label({steps("0000000000"),                   //
                   scopes(Phase::data, "####......"),     //
                   scopes(Phase::forward, "....######"),  //
                   calls(".....aa..."),                   //
                   work(Activity::compute, "........aa")}),
            (Pictures{"hhhhhhhl##",  //
                      "ddddffffff"}));
}

TEST(Stall, IsSyncWhenASynchronisingCallReturnedAfterItBegan) {
  EXPECT_EQ(label({steps("000000000000"),                     //
                   scopes(Phase::forward, "###........."),    //
                   scopes(Phase::optimizer, "...#########"),  //
                   calls("a.!!!!!..b.."),                     //
                   work(Activity::compute, ".aaaa.....bb")}),
            (Pictures{"h####sssss##",  //
                      "fffffooooooo"}));
}

TEST(Stall, IsSyncWhileTheSynchronisingCallHasNotReturned) {
  EXPECT_EQ(label({steps("000000000000"),                //
                   scopes(Phase::loss, "############"),  //
                   calls("a.?......b.."),                //
                   work(Activity::compute, ".aaaa.....bb")}),
            (Pictures{"h####sssss##",  //
                      "llllllllllll"}));
}

TEST(Stall, IsTheHostsWhenTheSynchronisingCallHadReturnedBefore) {
  EXPECT_EQ(label({steps("00000000000"),                //
                   scopes(Phase::loss, "###########"),  //
                   calls("a!!.....b.."),                //
                   work(Activity::compute, ".aaaa.....b")})
                .activities,
            "h####hhhhl#");
}

TEST(Stall, IsTheHostsWhenAnotherCallCameAfterTheSynchronisingOne) {
  EXPECT_EQ(
      label({steps("000000000000"), calls("a.!!!!!.mb.."), work(Activity::compute, ".aaaa.....bb"),
             work(Activity::copy, "...........m", {.stream = 9})})
          .activities,
      "h####hhhhh##");
}

TEST(Stall, IsNotSyncBecauseOfAnotherThread) {
  EXPECT_EQ(label({steps("000000000000"),  //
                   calls("a........b.."), calls("..!!!!!.....", "metrics"),
                   work(Activity::compute, ".aaaa.....bb")})
                .activities,
            "h####hhhhh##");
}

TEST(Stall, ByASynchronisingCopyIsTheHostsUntilTheCopyRuns) {
  // The call that launches the copy m is still open when the copy starts.
  Trace trace = draw({steps("00000000"), scopes(Phase::loss, "########"), calls("a..mmmm."),
                      work(Activity::compute, ".a......"), work(Activity::copy, "....mm..")});
  for (Call& call : trace.calls) call.synchronizes = call.correlation == 'm';
  EXPECT_EQ(draw_activities(find_timelines(trace).front().segments), "h#hh--hh");
}

TEST(Stall, WithoutAnyNextWorkIsTheHostsInThePhasesOfTheLoop) {
  EXPECT_EQ(label({steps("00000000"),                     //
                   scopes(Phase::forward, "####...."),    //
                   scopes(Phase::optimizer, "....###."),  //
                   calls("a......."),                     //
                   work(Activity::compute, ".aa.....")}),
            (Pictures{"h##hhhhh",  //
                      "ffffooox"}));
}

TEST(Stall, WaitsForTheMainStreamThoughAnotherStartsFirst) {
  EXPECT_EQ(label({steps("0000000000"),                   //
                   scopes(Phase::data, "###......."),     //
                   scopes(Phase::forward, "...#######"),  //
                   calls("m...a....."),                   //
                   work(Activity::copy, "...mm.....", {.stream = 9}),
                   work(Activity::compute, "......aaaa")}),
            (Pictures{"hhh--q####",  //
                      "dddddfffff"}));
}

TEST(Stall, BeforeWorkWithoutALaunchRecordIsTheHosts) {
  EXPECT_EQ(label({steps("000000"),                   //
                   scopes(Phase::data, "##...."),     //
                   scopes(Phase::forward, "..####"),  //
                   work(Activity::compute, "....##")}),
            (Pictures{"hhhh##",  //
                      "ddffff"}));
}

TEST(Stall, TakesTheLoopsPhaseWhileTheLaunchingThreadHasNone) {
  EXPECT_EQ(label({steps("00000000"),                    //
                   scopes(Phase::loss, "##......"),      //
                   scopes(Phase::backward, "..######"),  //
                   scopes(Phase::bucket_copy, "...##...", {.thread = "autograd"}),
                   calls(".....a..", "autograd"),  //
                   work(Activity::compute, "......aa")}),
            (Pictures{"hhhhhh##",  //
                      "llbccbbb"}));
}

TEST(Stall, OfAReplicaTakesItsThreadsPhaseAndTheLoopsBeforeTheThreadExists) {
  EXPECT_EQ(
      label({steps("000000000"),                     //
             scopes(Phase::replicate, "###......"),  //
             scopes(Phase::forward, "...######", {.thread = "replica 1"}),
             calls("....a....", "replica 1"), work(Activity::compute, "......aa.", {.device = 1})},
            1),
      (Pictures{"hhhhhl##h",  //
                "rrrfffffx"}));
}

TEST(Stall, IsCutAtTheWindowSoASyncOfTheLastStepDoesNotNameTheNext) {
  // loss.item() drains the device in step 0; step 1 then takes long to load its data.
  EXPECT_EQ(
      label({steps("000000111111"),                                                          //
             scopes(Phase::optimizer, "######......"), scopes(Phase::data, "......####.."),  //
             calls("a.!!!.....b."),                                                          //
             work(Activity::compute, ".aaa.......b")}),
      (Pictures{"h###sshhhhh#",  //
                "ooooooddddxx"}));
}

TEST(Stall, AfterOneVisitDoesNotReachIntoTheNext) {
  EXPECT_EQ(label({steps("0000....1111"),  //
                   calls("a.!!......b."),  //
                   work(Activity::compute, ".aa........b")})
                .activities,
            "h##s....hhh#");
}

}  // namespace
}  // namespace ddpprof::test

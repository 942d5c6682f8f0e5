// Which phase launched the work, and which stream is the main one.
#include "profiler/diagnose/launches.h"

#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

std::vector<LaunchedWork> launches_of(const Trace& trace, std::size_t device = 0) {
  const auto devices = find_devices(trace);
  return find_launches(trace, devices, find_host_phases(trace, devices.size()))[device];
}

TEST(Launches, TakeTheInnermostScopeOfTheLaunchingThread) {
  const Trace trace = draw({scopes(Phase::forward, "########"),  //
                            scopes(Phase::loss, "...##..."),     //
                            calls("a...b.c."),                   //
                            work(Activity::compute, "......abc")});
  const auto work = launches_of(trace);
  EXPECT_EQ(work[0].phase, Phase::forward);
  EXPECT_EQ(work[1].phase, Phase::loss);
  EXPECT_EQ(work[2].phase, Phase::forward);
}

TEST(Launches, TakeTheLoopsPhaseWhenTheLaunchingThreadHasNone) {
  const Trace trace = draw({scopes(Phase::backward, "####"),
                            scopes(Phase::bucket_copy, ".#..", {.thread = "autograd"}),
                            calls("ab..", "autograd"), work(Activity::compute, "..ab")});
  const auto work = launches_of(trace);
  EXPECT_EQ(work[0].phase, Phase::backward);
  EXPECT_EQ(work[1].phase, Phase::bucket_copy);
}

TEST(Launches, TakeThePhaseOfTheDevicesReplicaBeforeTheLoops) {
  Trace trace =
      draw({scopes(Phase::replicate, "##########"),
            scopes(Phase::forward, "..###.....", {.thread = "replica 1"}),
            calls("a..b...c..", "helper"), work(Activity::compute, ".....a.b.c", {.device = 1})});
  trace.info.devices.resize(2);
  const auto work = launches_of(trace, 1);
  EXPECT_EQ(work[0].phase, Phase::replicate);
  EXPECT_EQ(work[1].phase, Phase::forward);
  EXPECT_EQ(work[2].phase, Phase::replicate);
}

TEST(Launches, WithoutARecordTakeTheProcessPhaseAtTheStartOfTheWork) {
  const Trace trace = draw({scopes(Phase::forward, "##.."),  //
                            scopes(Phase::loss, "..#."),     //
                            work(Activity::compute, "#.1.")});
  const auto work = launches_of(trace);
  EXPECT_EQ(work[0].phase, Phase::forward);
  EXPECT_EQ(work[1].phase, Phase::loss);
}

TEST(Launches, OutsideOfAllScopesAreOther) {
  const Trace trace = draw({calls("a.."), work(Activity::compute, ".a.")});
  EXPECT_EQ(launches_of(trace)[0].phase, Phase::other);
}

TEST(Launches, OfATraceWithoutAMainThreadTakeTheScopeOpenedLastOnAnyThreadWithoutAReplica) {
  const Trace trace = draw({scopes(Phase::backward, "######", {.thread = "worker"}),
                            scopes(Phase::loss, "..##..", {.thread = "another"}),
                            calls(".a.b.c", "launcher"), work(Activity::compute, "......abc")});
  const auto work = launches_of(trace);
  EXPECT_EQ(work[0].phase, Phase::backward);
  EXPECT_EQ(work[1].phase, Phase::loss);
  EXPECT_EQ(work[2].phase, Phase::backward);
}

TEST(Launches, OfAGradientAllReduceBelongToItWhateverTheScope) {
  const Trace trace = draw({scopes(Phase::backward, "######"),  //
                            calls("ab...."), work(Activity::communication, "..aabb", {.stream = 9}),
                            collectives("..aa..", {.gradient = true}),
                            collectives("....bb", {.communicator = "other", .gradient = false})});
  const auto work = launches_of(trace);
  EXPECT_EQ(work[0].phase, Phase::all_reduce);
  EXPECT_EQ(work[1].phase, Phase::backward);
}

TEST(Launches, OfACudaGraphTakeThePhaseOfItsCapture) {
  Trace trace =
      draw({scopes(Phase::other, "####"), calls("a..."), work(Activity::compute, ".aa.")});
  trace.work.push_back(trace.work.front());
  trace.work.front().captured_phase = Phase::backward;
  const auto work = launches_of(trace);
  EXPECT_EQ(work[0].phase, Phase::backward);
  EXPECT_EQ(work[1].phase, Phase::other);
}

TEST(Launches, OfOneCorrelationAreTheOutermostCalls) {
  Trace trace = draw({scopes(Phase::forward, "###"),                                             //
                      calls("aaa"),                                                              //
                      scopes(Phase::loss, ".#.", {.thread = "driver"}), calls(".a.", "driver"),  //
                      work(Activity::compute, "...a")});
  EXPECT_EQ(launches_of(trace)[0].phase, Phase::forward);
}

TEST(MainStream, IsTheOneWithMostCompute) {
  const auto main_of = [](const std::vector<Row>& rows) {
    return find_main_stream(launches_of(draw(rows)));
  };
  EXPECT_EQ(main_of({work(Activity::compute, "###....", {.stream = 7}),
                     work(Activity::compute, "...####", {.stream = 9}),
                     work(Activity::communication, "#######", {.stream = 5})}),
            9);
  EXPECT_EQ(main_of({work(Activity::compute, "##..", {.stream = 9}),
                     work(Activity::compute, "..##", {.stream = 7})}),
            7)
      << "of equal ones the lowest";
  EXPECT_EQ(main_of({work(Activity::copy, "##..", {.stream = 7}),
                     work(Activity::copy, "###.", {.stream = 9})}),
            9)
      << "without compute the busiest";
  EXPECT_EQ(main_of({}), std::nullopt);
}

TEST(Devices, NumberedWithinTheMachineAreThoseThatAppear) {
  Trace trace = draw({work(Activity::compute, "#", {.device = 1})});
  trace.info.devices.resize(1);
  const auto devices = find_devices(trace);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].id, 1);
  EXPECT_EQ(devices[0].name, "cuda:1");
}

TEST(Devices, OfAProcessThatDrivesTwoAreBothEvenWhenOneHasNoWork) {
  Trace trace = draw({work(Activity::compute, "#", {.device = 0})});
  trace.info.devices.resize(2);
  EXPECT_EQ(find_devices(trace).size(), 2U);
}

TEST(Devices, ThatAreThreadsCarryTheRankOfAJobOrTheReplicaOfAProcess) {
  Trace trace = draw_on_threads({scopes(Phase::forward, "#", {.thread = "replica 1"})});
  EXPECT_EQ(find_devices(trace)[1].name, "cpu:1");
  trace = draw_on_threads({scopes(Phase::forward, "#")});
  trace.info.rank = 3;
  trace.info.world_size = 4;
  ASSERT_EQ(find_devices(trace).size(), 1U);
  EXPECT_EQ(find_devices(trace)[0].name, "cpu:3");
}

}  // namespace
}  // namespace ddpprof::test

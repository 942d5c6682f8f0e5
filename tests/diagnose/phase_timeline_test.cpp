// Devices whose phases alone were timed: profiler/README.md, "Devices timed by events".
#include "profiler/diagnose/counts.h"
#include "profiler/diagnose/diagnose.h"
#include "profiler/diagnose/strategy.h"
#include "profiler/diagnose/timeline.h"
#include "tests/diagnose/ranks.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

Span columns(std::int64_t begin, std::int64_t end) { return {begin * kColumnNs, end * kColumnNs}; }

DeviceTimeline first_timeline(const std::vector<Row>& rows) {
  return find_timelines(draw(rows)).front();
}

TEST(PhaseTimeline, AWindowIsTheHullOfAStepsStretches) {
  // The host is ahead of the device, and waits for its turn between the visits.
  const DeviceTimeline timeline =
      first_timeline({steps("00112.....3..."),  //
                      device_phases("..ffbboffb.ffb", "..000011112333")});
  const std::vector<Window> expected = {
      {.step = 0, .visit = 0, .span = columns(2, 6), .spill_ns = {}},
      {.step = 1, .visit = 0, .span = columns(6, 10), .spill_ns = {}},
      {.step = 3, .visit = 1, .span = columns(11, 14), .spill_ns = {}}};
  EXPECT_EQ(timeline.windows, expected) << "step 2 has no stretch, so it has no window";
  EXPECT_EQ(draw_phases(timeline.segments), "..ffbboffb.ffb");
  EXPECT_EQ(draw_activities(timeline.segments), "..????????.???") << "no activity is known";
  EXPECT_TRUE(timeline.issues.empty());
}

TEST(PhaseTimeline, MergesNeighboursOfOnePhase) {
  Trace trace = draw({steps("000000"), device_phases("ffffbb", "000000")});
  trace.device_phases[0].span = columns(0, 2);
  trace.device_phases.push_back({columns(2, 4), 0, 0, Phase::forward});
  const auto segments = find_timelines(trace).front().segments;
  ASSERT_EQ(segments[0].size(), 2U);
  EXPECT_EQ(segments[0][0], (Segment{columns(0, 4), {Phase::forward, {}, {}}}));
}

TEST(PhaseTimeline, SaysNothingOfWhatRanInThePhases) {
  const DeviceTimeline timeline =
      first_timeline({steps("0000"), device_phases("ffbb", "0000"), collectives("..##")});
  EXPECT_FALSE(timeline.compute);
  EXPECT_FALSE(timeline.communication);
  EXPECT_FALSE(timeline.contention_ns);
  EXPECT_EQ(timeline.collectives, std::vector<std::size_t>{0});
}

TEST(PhaseTimeline, LeavesOutStretchesOfStepsThatAreNotInTheTrace) {
  const DeviceTimeline timeline =
      first_timeline({steps("...111"), device_phases("fffbbb", "000111")});
  ASSERT_EQ(timeline.windows.size(), 1U);
  EXPECT_EQ(timeline.windows[0].span, columns(3, 6));
  EXPECT_EQ(draw_phases(timeline.segments), "...bbb");
}

TEST(PhaseTimeline, AHoleIsOtherAndIsCounted) {
  const DeviceTimeline timeline =
      first_timeline({steps("000000111"), device_phases("ff..bbfff", "000000111")});
  EXPECT_EQ(draw_phases(timeline.segments), "ffxxbbfff");
  ASSERT_EQ(timeline.issues.size(), 1U);
  EXPECT_EQ(timeline.issues[0].code, "phases-not-contiguous");
  EXPECT_EQ(timeline.issues[0].count, 1) << "a step";
}

TEST(PhaseTimeline, OfStretchesThatOverlapTheEarlierOneWins) {
  const DeviceTimeline timeline =
      first_timeline({steps("000000"), device_phases("..bbbb", "000000"),  //
                      device_phases("fff...", "000000")});
  EXPECT_EQ(draw_phases(timeline.segments), "fffbbb");
  ASSERT_EQ(timeline.issues.size(), 1U);
}

TEST(PhaseTimeline, AStepThatReachesIntoTheOneBeforeBeginsWhereThatEnds) {
  const DeviceTimeline timeline =
      first_timeline({steps("000111222"), device_phases("ffffff...", "000000..."),
                      device_phases("..bb.....", "..11....."),  //
                      device_phases("....ooooo", "....22222")});
  ASSERT_EQ(timeline.windows.size(), 3U);
  EXPECT_EQ(timeline.windows[0].span, columns(0, 6));
  EXPECT_EQ(timeline.windows[1].span, columns(6, 6)) << "nothing is left of it";
  EXPECT_EQ(timeline.windows[2].span, columns(6, 9));
  EXPECT_EQ(draw_phases(timeline.segments), "ffffffooo");
  ASSERT_EQ(timeline.issues.size(), 1U);
  EXPECT_EQ(timeline.issues[0].count, 2);
}

TEST(PhaseTimeline, IsNotReadWhereWorkWasRecordedOrThreadsAreTheDevices) {
  const std::vector<Row> rows{steps("0000"), device_phases("ffbb", "0000")};
  EXPECT_TRUE(times_phases_alone(draw(rows)));
  EXPECT_FALSE(times_phases_alone(draw_on_threads(rows)));
  std::vector<Row> with_work = rows;
  with_work.push_back(work(Activity::compute, ".##."));
  EXPECT_TRUE(first_timeline(with_work).compute);
  EXPECT_FALSE(times_phases_alone(draw({steps("0000")}))) << "nothing was timed";
}

TEST(PhaseTimeline, HasATimelineADeviceWithItsNumberAsItsName) {
  Trace trace = draw({steps("0000"), device_phases("ffbb", "0000", 1),  //
                      device_phases("fffb", "0000", 0)});
  trace.info.devices.resize(2);
  trace.info.devices[0].number = 3;
  const auto timelines = find_timelines(trace);
  ASSERT_EQ(timelines.size(), 2U);
  EXPECT_EQ(timelines[0].device.name, "cuda:3");
  EXPECT_EQ(timelines[1].device.name, "cuda:1") << "by its place where the number is not known";
  EXPECT_EQ(draw_phases(timelines[0].segments), "fffb");
  EXPECT_EQ(draw_phases(timelines[1].segments), "ffbb");
}

// Two ranks, of which the second arrives last in step 0 and the first in step 1.
Run two_ranks() {
  const std::vector<Row> first{steps("0000000011111111"),  //
                               device_phases("ffbbbboofffbbboo", "0000000011111111"),
                               collectives("..aaaa.......b..", {.bucket = 0,  //
                                                                .ready_columns = {1, 12}})};
  const std::vector<Row> second{steps("0000000011111111"),  //
                                device_phases("fffbbboofbbbbboo", "0000000011111111"),
                                collectives("....aa....bbbb..", {.bucket = 0,  //
                                                                 .ready_columns = {4, 9}})};
  return ranks({draw(first), draw(second)});
}

StrategyDiagnosis diagnose_ddp(Run run) {
  StrategyInput strategy;
  strategy.key = "ddp";
  strategy.run = std::move(run);
  DiagnoseInput input;
  input.strategies = {strategy};
  return diagnose(input).strategies.front();
}

TEST(PhasesAlone, TheCriticalDeviceIsTheOneWithTheLeastSumOfWaits) {
  const MeasuredRun measured = measure_run(two_ranks(), "ddp");
  EXPECT_EQ(measured.critical, (std::vector<std::size_t>{1, 0}));
}

TEST(PhasesAlone, WithoutKnownWaitsItIsTheOneWithTheLeastTimeInCollectives) {
  auto run = two_ranks();
  for (Trace& trace : run.ranks) trace.info.world_size = 3;  // a rank is missing
  const MeasuredRun measured = measure_run(run, "ddp");
  ASSERT_FALSE(measured.collectives.are_known);
  EXPECT_EQ(measured.critical, (std::vector<std::size_t>{1, 0}));
}

TEST(PhasesAlone, WithinOneProcessItIsTheFirstDevice) {
  Trace trace = draw(
      {steps("000000"), device_phases("ffffbb", "000000", 0), device_phases("ffbbbb", "000000", 1),
       collectives("aaaa..", {.kind = CollectiveKind::reduce, .root = 0}),
       collectives("...b..", {.kind = CollectiveKind::reduce, .root = 0, .device = 1})});
  trace.info.devices.resize(2);
  const MeasuredRun measured = measure_run(ranks({trace}), "dp");
  ASSERT_EQ(measured.devices.size(), 2U);
  EXPECT_EQ(measured.devices[0].steps[0].collectives.wait_ns, 3 * kColumnNs);
  EXPECT_EQ(measured.critical, std::vector<std::size_t>{0});
}

TEST(PhasesAlone, WhatCollectivesTellIsKnownAndTheRestIsAbsent) {
  const StrategyDiagnosis ddp = diagnose_ddp(two_ranks());
  EXPECT_EQ(ddp.shown.window_ns, 16 * kColumnNs);
  EXPECT_EQ(ddp.shown.residual_ns(), 0);
  EXPECT_EQ(ddp.shown.breakdown.of(Phase::forward), 6 * kColumnNs) << "3 of rank 1, 3 of rank 0";
  const Label forward{Phase::forward, {}, {}};
  EXPECT_EQ(ddp.shown.breakdown[forward], 6 * kColumnNs);
  EXPECT_FALSE(ddp.shown.communication_ns);
  EXPECT_FALSE(ddp.shown.hidden_communication_ns);
  EXPECT_FALSE(ddp.shown.contention_ns);
  EXPECT_FALSE(ddp.shown.spill_ns);

  const AllReduceFigures& shown = ddp.all_reduce.value();
  EXPECT_EQ(shown.count, 2);
  EXPECT_EQ(shown.bytes, 2048);
  EXPECT_EQ(shown.total_ns, 3 * kColumnNs);
  EXPECT_EQ(shown.wait_ns, 0);
  EXPECT_EQ(shown.transfer_ns, 3 * kColumnNs);
  EXPECT_FALSE(shown.hidden_ns);
  EXPECT_FALSE(shown.exposed_wait_ns);
  EXPECT_FALSE(shown.exposed_transfer_ns);

  EXPECT_EQ(ddp.per_rank[0].all_reduce->wait_ns, 2 * kColumnNs);
  EXPECT_EQ(ddp.per_rank[0].wait_ns, 2 * kColumnNs);
  EXPECT_EQ(ddp.per_rank[1].wait_ns, 3 * kColumnNs);
  EXPECT_FALSE(ddp.per_rank[0].figures.communication_ns);
  ASSERT_EQ(ddp.buckets.size(), 1U);
  EXPECT_DOUBLE_EQ(ddp.buckets[0].ready_ms, 0.004);
  EXPECT_DOUBLE_EQ(ddp.buckets[0].queued_ms, 0.0005);
}

TEST(PhasesAlone, LaunchesWereNotCounted) {
  Trace trace = draw({steps("0011"), device_phases("ffbb", "0011")});
  trace.info.counts = {{"forward", 4}};
  EXPECT_EQ(find_counts(trace), (std::map<std::string, double>{{"forward", 2}}));
}

TEST(PhasesAlone, OnOneRankMakeTheJobsSumsAbsent) {
  // Rank 1 recorded its work: step 0 is shown from there, step 1 from rank 0.
  auto run = two_ranks();
  run.ranks[1] = draw({steps("0000000011111111"), work(Activity::compute, "######..######.."),
                       collectives("....aa....bbbb..")});
  run.ranks[1].info = run.ranks[0].info;
  run.ranks[1].info.rank = 1;
  const StrategyDiagnosis ddp = diagnose_ddp(run);
  EXPECT_EQ(ddp.shown.residual_ns(), 0);
  EXPECT_FALSE(ddp.shown.hidden_communication_ns);
  EXPECT_FALSE(ddp.all_reduce->hidden_ns);
  EXPECT_EQ(ddp.all_reduce->transfer_ns, 3 * kColumnNs);
  EXPECT_FALSE(ddp.per_rank[0].all_reduce->hidden_ns);
  EXPECT_EQ(ddp.per_rank[1].all_reduce->hidden_ns, 6 * kColumnNs);
}

TEST(PhasesAlone, AStepThatOneDeviceLacksIsLeftOutAndCounted) {
  Trace trace = draw({steps("000111"), device_phases("ffbfbb", "000111", 0),
                      device_phases("fffbbb", "000888", 1)});
  trace.info.devices.resize(2);
  const MeasuredRun measured = measure_run(ranks({trace}), "dp");
  ASSERT_EQ(measured.devices[0].steps.size(), 1U);
  ASSERT_EQ(measured.devices[1].steps.size(), 1U);
  ASSERT_EQ(measured.issues.size(), 1U);
  EXPECT_EQ(measured.issues[0].code, "step-incomplete");
}

TEST(PhasesAlone, FlawsReachTheDiagnosisOnce) {
  auto run = two_ranks();
  for (Trace& trace : run.ranks) trace.device_phases.front().span.end_ns -= 1;
  const StrategyDiagnosis ddp = diagnose_ddp(run);
  EXPECT_EQ(ddp.shown.residual_ns(), 0);
  ASSERT_EQ(ddp.issues.size(), 1U);
  EXPECT_EQ(ddp.issues[0].code, "phases-not-contiguous");
  EXPECT_EQ(ddp.issues[0].count, 2) << "one a rank";
}

}  // namespace
}  // namespace ddpprof::test

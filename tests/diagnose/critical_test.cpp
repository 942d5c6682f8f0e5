// Whose step is shown: profiler/README.md, "A collective's duration contains waiting".
#include "profiler/diagnose/strategy.h"
#include "profiler/trace/error.h"
#include "tests/diagnose/ranks.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

MeasuredRun measure(const Run& run) { return measure_run(run, "ddp"); }

TEST(Critical, IsTheRankForWhichTheOthersWaitInEachStep) {
  const MeasuredRun measured = measure(ranks({
      draw_on_threads({steps("0000001111112222"), collectives("..aaaa...bbb..cc")}),
      draw_on_threads({steps("0000001111112222"), collectives("....aa.bbbbb..cc")}),
  }));
  EXPECT_EQ(measured.critical, (std::vector<std::size_t>{1, 0, 0})) << "a tie goes to rank 0";
  EXPECT_EQ(find_critical_rank(measured), 0);
  const auto shown = critical_steps(measured);
  EXPECT_EQ(shown[0]->collectives.exposed_wait_ns, 0);
  EXPECT_EQ(shown[1]->collectives.exposed_wait_ns, 0);
}

TEST(Critical, CountsOnlyWaitingThatComputeDoesNotHide) {
  // Rank 0 arrives first but computes on; rank 1's wait in the second collective costs it time.
  const MeasuredRun measured = measure(ranks({
      draw_on_threads({steps("0000000000"), collectives("aaaaa.b..."),
                       scopes(Phase::backward, "#####.....", {.computes = true})}),
      draw_on_threads({steps("0000000000"), collectives("..aa.bb...")}),
  }));
  EXPECT_EQ(measured.critical, std::vector<std::size_t>{0});
}

TEST(Critical, WithoutKnownWaitsIsTheRankWithTheLeastExposedCommunication) {
  const MeasuredRun measured = measure(ranks({
      draw({steps("000000"), work(Activity::communication, "..####")}),
      draw({steps("000000"), work(Activity::communication, "...###")}),
  }));
  EXPECT_EQ(measured.critical, std::vector<std::size_t>{1});
}

TEST(Critical, OfAProcessOnThreadsIsAlwaysTheFirstDevice) {
  const MeasuredRun measured = measure(ranks({draw_on_threads({
      steps("000000"),
      collectives("####..", {.kind = CollectiveKind::reduce, .root = 0, .device = 0}),
      collectives("...#..", {.kind = CollectiveKind::reduce, .root = 0, .device = 1}),
      scopes(Phase::forward, "##....", {.thread = "replica 1", .computes = true}),
  })}));
  ASSERT_EQ(measured.devices.size(), 2U);
  EXPECT_EQ(measured.devices[0].steps[0].collectives.exposed_wait_ns, 3000);
  EXPECT_EQ(measured.critical, std::vector<std::size_t>{0});
}

TEST(Critical, OfAProcessWithDevicesIsTheOneThatWaitsLeast) {
  Trace trace = draw({
      steps("000000"),
      work(Activity::communication, "aaaa..", {.stream = 9, .device = 0}),
      work(Activity::communication, "...b..", {.stream = 9, .device = 1}),
      collectives("aaaa..", {.kind = CollectiveKind::reduce, .root = 0, .device = 0}),
      collectives("...b..", {.kind = CollectiveKind::reduce, .root = 0, .device = 1}),
  });
  trace.info.devices.resize(2);
  EXPECT_EQ(measure(ranks({trace})).critical, std::vector<std::size_t>{1});
}

TEST(CountedSteps, AreThoseThatAllRanksRecorded) {
  const MeasuredRun measured = measure(ranks({
      draw_on_threads({steps("00112233")}),
      draw_on_threads({steps("..112233..")}),
  }));
  ASSERT_EQ(measured.devices[0].steps.size(), 3U);
  EXPECT_EQ(measured.devices[0].steps[0].step, 1);
  EXPECT_EQ(measured.devices[1].steps[0].step, 1);
  ASSERT_EQ(measured.issues.size(), 1U);
  EXPECT_EQ(measured.issues[0].code, "step-incomplete");
  EXPECT_EQ(measured.issues[0].count, 1);
}

TEST(CountedSteps, AreThoseThatLostNothingOnAnyRank) {
  Trace lossy = draw_on_threads({steps("00112233")});
  lossy.steps[1].has_losses = true;
  const MeasuredRun measured = measure(ranks({draw_on_threads({steps("00112233")}), lossy}));
  ASSERT_EQ(measured.devices[0].steps.size(), 3U);
  EXPECT_EQ(measured.devices[0].steps[1].step, 2);
  ASSERT_EQ(measured.issues.size(), 1U);
  EXPECT_EQ(measured.issues[0].code, "step-lossy");
  EXPECT_EQ(measured.issues[0].count, 1);
  for (Step& step : lossy.steps) step.has_losses = true;
  EXPECT_THROW(measure(ranks({lossy})), Error);
}

TEST(CountedSteps, ThrowWhenThereAreNone) {
  EXPECT_THROW(measure(ranks({draw_on_threads({})})), Error);
  EXPECT_THROW(measure(ranks({draw_on_threads({steps("00")}), draw_on_threads({steps("11")})})),
               Error);
  EXPECT_THROW(measure_run(ddpprof::Run{}, "ddp"), Error);
}

TEST(AllReduceFigures, AreSumsOverTheStepsOfARank) {
  const std::vector<Row> early{steps("0000011111"), collectives(".aaa..bbb.")};
  const std::vector<Row> late{steps("0000011111"), collectives("..aa..bbb.")};
  const auto run = ranks({draw_on_threads(early), draw_on_threads(late)});
  const auto rows = to_rank_figures(measure(run), run);
  ASSERT_EQ(rows.size(), 2U);
  const AllReduceFigures& figures = rows[0].all_reduce.value();
  EXPECT_EQ(figures.steps_count, 2);
  EXPECT_EQ(figures.count, 2);
  EXPECT_EQ(figures.bytes, 2048);
  EXPECT_EQ(figures.total_ns, 6000);
  EXPECT_EQ(figures.wait_ns, 1000);
  EXPECT_EQ(figures.transfer_ns, 5000);
  EXPECT_EQ(figures.world_size, 2);
  EXPECT_EQ(rows[1].all_reduce->wait_ns, 0);
  EXPECT_EQ(rows[1].wait_ns, 0);
}

TEST(AllReduceFigures, AreAbsentWhereTheClocksUncertaintyExceedsThem) {
  auto run = ranks({draw_on_threads({steps("00000"), collectives(".aaa.")}),
                    draw_on_threads({steps("00000"), collectives("..aa.")})});
  for (Trace& trace : run.ranks) trace.info.clock_uncertainty_ns = 1500;
  const auto rows = to_rank_figures(measure(run), run);
  EXPECT_FALSE(rows[0].all_reduce->wait_ns) << "1000 ns, give or take 1500";
  EXPECT_EQ(rows[0].all_reduce->transfer_ns, 2000);
  EXPECT_EQ(rows[0].transfer_ns, 2000);
}

TEST(AllReduceFigures, AreAbsentInAJobWithoutAny) {
  const auto run = ranks({draw_on_threads({steps("00")})});
  const auto rows = to_rank_figures(measure(run), run);
  EXPECT_FALSE(rows[0].all_reduce);
  EXPECT_FALSE(rows[0].wait_ns);
  EXPECT_EQ(rows[0].device_name, "cpu:0");
}

}  // namespace
}  // namespace ddpprof::test

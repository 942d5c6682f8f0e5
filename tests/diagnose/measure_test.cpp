// The figures beside the table: profiler/README.md, "Overlap" and "A collective's duration contains
// waiting".
#include "profiler/diagnose/measure.h"

#include "tests/diagnose/ranks.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

std::vector<StepFigures> measure(const Run& run, std::size_t rank) {
  const auto matched = match_collectives(run);
  const Trace& trace = run.ranks[rank];
  return measure_steps(find_timelines(trace).front(), trace, matched.timings[rank],
                       matched.are_known);
}

TEST(Measure, SplitsAnAllReduceIntoHiddenExposedWaitAndExposedTransfer) {
  // Rank 1 arrives in column 5, so rank 0 waits 2 to 5 and transfers 5 to 8; compute hides 2 to 4.
  const auto run = ranks({draw({steps("000000000"),                    //
                                work(Activity::compute, "####....#"),  //
                                work(Activity::communication, "..nnnnnn.", {.stream = 9}),
                                collectives("..nnnnnn.", {.bytes = 4096})}),
                          draw({steps("000000000"), collectives(".....###.", {.bytes = 4096})})});
  const StepFigures step = measure(run, 0).front();
  for (const CollectiveFigures& figures : {step.collectives, step.gradient_all_reduces}) {
    EXPECT_EQ(figures.count, 1);
    EXPECT_EQ(figures.bytes, 4096);
    EXPECT_EQ(figures.total_ns, 6000);
    EXPECT_EQ(figures.hidden_ns, 2000);
    EXPECT_EQ(figures.exposed_wait_ns, 1000);
    EXPECT_EQ(figures.exposed_transfer_ns, 3000);
    EXPECT_EQ(figures.wait_ns, 3000);
    EXPECT_EQ(figures.transfer_ns, 3000);
  }
  EXPECT_EQ(step.communication_ns, 6000);
  EXPECT_EQ(step.hidden_communication_ns, 2000);
  EXPECT_EQ(step.breakdown.of(Activity::communication), 4000) << "the exposed part";
  EXPECT_EQ(step.breakdown.of(Phase::all_reduce), 4000);
}

TEST(Measure, CountsAnInstantAsTransferWhenOneCollectiveTransfersWhileAnotherWaits) {
  // On rank 0: a waits 0 to 4 and transfers 4 to 6; b waits 2 to 5 and transfers 5 to 8.
  const std::vector<Row> first{steps("00000000"), collectives("aaaaaa.."),
                               collectives("..bbbbbb", {.sequence = 1})};
  const std::vector<Row> last{steps("00000000"), collectives("....aa.."),
                              collectives(".....bbb", {.sequence = 1})};
  const StepFigures step =
      measure(ranks({draw_on_threads(first), draw_on_threads(last)}), 0).front();
  EXPECT_EQ(step.collectives.total_ns, 8000);
  EXPECT_EQ(step.collectives.exposed_wait_ns, 4000);
  EXPECT_EQ(step.collectives.exposed_transfer_ns, 4000);
  EXPECT_EQ(step.collectives.wait_ns, 7000) << "the sum over both";
  EXPECT_EQ(step.collectives.transfer_ns, 5000);
}

TEST(Measure, KeepsOtherCollectivesOutOfTheAllReduceFigures) {
  const CollectiveOptions metric{.communicator = "metrics", .gradient = false};
  const auto run = ranks({draw_on_threads({steps("00000000"), collectives("##......"),
                                           collectives("....###.", metric)}),
                          draw_on_threads({steps("00000000"), collectives("##......"),
                                           collectives("....###.", metric)})});
  const StepFigures step = measure(run, 0).front();
  EXPECT_EQ(step.collectives.count, 2);
  EXPECT_EQ(step.collectives.total_ns, 5000);
  EXPECT_EQ(step.gradient_all_reduces.count, 1);
  EXPECT_EQ(step.gradient_all_reduces.total_ns, 2000);
}

TEST(Measure, BooksACollectiveToTheStepItBeganIn) {
  const std::vector<Row> rows{steps("00001111"), collectives("...##.#.")};
  const auto figures = measure(ranks({draw_on_threads(rows), draw_on_threads(rows)}), 0);
  EXPECT_EQ(figures[0].collectives.count, 1);
  EXPECT_EQ(figures[0].collectives.transfer_ns, 2000) << "all of it";
  EXPECT_EQ(figures[0].collectives.total_ns, 1000) << "the part inside the window";
  EXPECT_EQ(figures[1].collectives.count, 1);
  EXPECT_EQ(figures[1].collectives.total_ns, 2000);
}

TEST(Measure, LeavesOutACollectiveThatDidNotMatchSoThatThePartsAddUp) {
  const auto run = ranks({draw_on_threads({steps("00000000"), collectives("##..###.")}),
                          draw_on_threads({steps("00000000"), collectives("##......")})});
  const StepFigures step = measure(run, 0).front();
  EXPECT_EQ(step.collectives.count, 1);
  EXPECT_EQ(step.collectives.total_ns, 2000);
  EXPECT_EQ(step.communication_ns, 5000) << "the device was busy with it all the same";
}

TEST(Measure, HasTotalsButNoWaitsWhenARankIsMissing) {
  auto run = ranks({draw_on_threads({steps("0000"), collectives(".##.")}), draw_on_threads({})});
  run.ranks.pop_back();
  const StepFigures step = measure(run, 0).front();
  EXPECT_EQ(step.collectives.count, 1);
  EXPECT_EQ(step.collectives.total_ns, 2000);
  EXPECT_FALSE(step.collectives.wait_ns);
  EXPECT_FALSE(step.collectives.transfer_ns);
  EXPECT_FALSE(step.collectives.exposed_wait_ns);
  EXPECT_FALSE(step.collectives.exposed_transfer_ns);
}

TEST(Measure, NothingHidesBehindComputeThatHadNoCore) {
  const auto run = ranks({draw_on_threads(
      {steps("00000000"), scopes(Phase::backward, "######..", {.computes = true, .cpu_us = 4}),
       collectives("...#####")})});
  const StepFigures step = measure(run, 0).front();
  EXPECT_EQ(step.communication_ns, 5000);
  EXPECT_EQ(step.hidden_communication_ns, 1000);
  EXPECT_EQ(step.breakdown.of(Activity::communication), 4000);
}

}  // namespace
}  // namespace ddpprof::test

// The step that profiler/README.md works through, "A step, worked through": the same picture, and
// the same figures.
#include "profiler/diagnose/measure.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

Trace worked_step() {
  return draw({
      steps("00000000000000000000000000000000"),
      scopes(Phase::forward, "######.........................."),
      scopes(Phase::backward, "......##################........"),
      scopes(Phase::optimizer, "........................####...."),
      scopes(Phase::bucket_copy, "..............##.....##.........", {.thread = "autograd"}),
      scopes(Phase::all_reduce, "................##..............", {.thread = "autograd"}),
      calls(".a..b....................o......"),
      calls("........c..d..k.r.e..u..........", "autograd"),
      work(Activity::compute, "...aaa.bbbccccddk...eeee...uoooo", {.stream = 7}),
      work(Activity::communication, "..................rrrrrrrr......", {.stream = 20}),
      collectives("..................rrrrrrrr......", {.bucket = 0, .ready_columns = {17}}),
  });
}

TEST(WorkedStep, HasTheLabelsOfTheReadme) {
  const auto timeline = find_timelines(worked_step()).front();
  EXPECT_EQ(draw_activities(timeline.segments), "hhl###q##########h==####==q#####");
  EXPECT_EQ(draw_phases(timeline.segments), "ffffffffffbbbbbbcaaabbbbaaccoooo");
}

TEST(WorkedStep, HasTheTableOfTheReadme) {
  const Trace trace = worked_step();
  const auto timeline = find_timelines(trace).front();
  const auto figures = measure_steps(timeline, trace, {CollectiveTiming{0, 8'000}}, true);
  ASSERT_EQ(figures.size(), 1u);
  const StepFigures& step = figures[0];
  EXPECT_EQ(step.window_ns, 32'000);
  EXPECT_EQ(step.breakdown.total_ns(), step.window_ns);

  using enum Phase;
  const auto us = [&](Phase phase, Activity activity, std::optional<StallKind> kind = {}) {
    return step.breakdown[{phase, activity, kind}] / 1'000;
  };
  EXPECT_EQ(us(forward, Activity::stall, StallKind::host), 2);
  EXPECT_EQ(us(forward, Activity::stall, StallKind::latency), 1);
  EXPECT_EQ(us(forward, Activity::compute), 6);
  EXPECT_EQ(us(forward, Activity::stall, StallKind::queued), 1);
  EXPECT_EQ(us(backward, Activity::compute), 10);
  EXPECT_EQ(us(bucket_copy, Activity::compute), 2);
  EXPECT_EQ(us(bucket_copy, Activity::stall, StallKind::queued), 1);
  EXPECT_EQ(us(all_reduce, Activity::stall, StallKind::host), 1);
  EXPECT_EQ(us(all_reduce, Activity::communication), 4);
  EXPECT_EQ(us(optimizer, Activity::compute), 4);
  EXPECT_EQ(step.gradient_all_reduces.total_ns, 8'000);
  EXPECT_EQ(step.gradient_all_reduces.hidden_ns, 4'000);
  EXPECT_EQ(step.spill_ns, 0);
}

}  // namespace
}  // namespace ddpprof::test

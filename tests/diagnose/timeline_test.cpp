// One activity and one phase at each instant of a device: profiler/README.md, "One label a
// nanosecond". What stalls are called is in stall_test.cpp.
#include "profiler/diagnose/timeline.h"

#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

TEST(Timeline, ComputeHidesTheCollectiveAndTheCopyThatRunBesideIt) {
  const Trace trace = draw({steps("000000000000"),  //
                            work(Activity::compute, "..####......", {.stream = 7}),
                            work(Activity::communication, "....######..", {.stream = 9}),
                            work(Activity::copy, "###......##.", {.stream = 11})});
  const auto timeline = find_timelines(trace).front();
  EXPECT_EQ(draw_activities(timeline.segments), "--####====-h");
  EXPECT_EQ(break_down(timeline.segments[0]).total_ns(), 12 * kColumnNs);
}

TEST(Timeline, APhaseIsThatWhichLaunchedTheWinningWork) {
  const Trace trace = draw({steps("000000000"),                   //
                            scopes(Phase::forward, "##......."),  //
                            scopes(Phase::backward, "..#######"), calls("ab.c....."),
                            work(Activity::compute, "..aaa..cc"),
                            work(Activity::communication, "...bbbbb.", {.stream = 9})});
  const auto timeline = find_timelines(trace).front();
  EXPECT_EQ(draw_activities(timeline.segments), "hl###==##");
  EXPECT_EQ(draw_phases(timeline.segments), "fffffffbb");
}

TEST(Timeline, OfTwoKernelsTheEarlierStartWinsThenTheLowerStream) {
  const auto phases = [](const std::string& forward, const std::string& backward,
                         std::int64_t forward_stream) {
    return draw_phases(
               find_timelines(draw({steps("0000000000"), scopes(Phase::forward, "##"),
                                    scopes(Phase::backward, "..##"), calls("a.b......."),
                                    work(Activity::compute, forward, {.stream = forward_stream}),
                                    work(Activity::compute, backward, {.stream = 8})}))
                   .front()
                   .segments)
        .substr(4);
  };
  EXPECT_EQ(phases("....aaaa..", "......bbbb", 9), "ffffbb");
  EXPECT_EQ(phases("....aaaa..", "....bbbbbb", 7), "ffffbb");
  EXPECT_EQ(phases("....aaaa..", "....bbbbbb", 9), "bbbbbb");
}

TEST(Timeline, IsOfEachDeviceByItself) {
  Trace trace = draw({steps("0000"), work(Activity::compute, "##..", {.device = 0}),
                      work(Activity::copy, ".##.", {.device = 1})});
  const auto timelines = find_timelines(trace);
  ASSERT_EQ(timelines.size(), 2U);
  EXPECT_EQ(draw_activities(timelines[0].segments), "##hh");
  EXPECT_EQ(draw_activities(timelines[1].segments), "h--h");
}

TEST(Timeline, OfADeviceWithoutWorkIsOneStallInThePhasesOfTheLoop) {
  const auto timeline =
      find_timelines(draw({steps("0000"), scopes(Phase::data, "##.."), calls("!...")})).front();
  EXPECT_EQ(draw_activities(timeline.segments), "hhhh");
  EXPECT_EQ(draw_phases(timeline.segments), "ddxx");
}

TEST(Timeline, WithoutStepsHasNoWindows) {
  EXPECT_TRUE(find_timelines(draw({work(Activity::compute, "##")})).front().windows.empty());
}

TEST(LabelWindows, RefusesAGapLabellerThatLeavesAHole) {
  const std::vector<Window> windows{{.step = 0, .visit = 0, .span = {0, 10}}};
  EXPECT_THROW(label_windows(windows, {}, [](Span, std::vector<Segment>&) {}), std::logic_error);
}

}  // namespace
}  // namespace ddpprof::test

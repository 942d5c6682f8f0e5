// How a device's windows follow from the host's steps: profiler/README.md, "Steps and windows".
#include "profiler/diagnose/windows.h"

#include "profiler/diagnose/timeline.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

std::vector<Window> windows_of(const std::vector<Row>& rows) {
  return find_timelines(draw(rows)).front().windows;
}

std::vector<Span> columns_of(const std::vector<Window>& windows) {
  std::vector<Span> columns;
  for (const Window& window : windows) {
    columns.push_back({window.span.begin_ns / kColumnNs, window.span.end_ns / kColumnNs});
  }
  return columns;
}

using Columns = std::vector<Span>;

TEST(Windows, FollowTheHostWhenTheDeviceNeverLagsBehind) {
  EXPECT_EQ(columns_of(windows_of({steps("00001111"),  //
                                   calls("a...b..."),  //
                                   work(Activity::compute, ".aa..bb.")})),
            (Columns{{0, 4}, {4, 8}}));
}

TEST(Windows, LetTheHostRunAheadByAStep) {
  EXPECT_EQ(columns_of(windows_of({steps("00112222...."),  //
                                   calls("a.b.c......."),  //
                                   work(Activity::compute, ".aaaabbbbcc.")})),
            (Columns{{0, 5}, {5, 9}, {9, 11}}));
}

TEST(Windows, KeepAStallAtTheFrontInTheStepThatStalls) {
  EXPECT_EQ(columns_of(windows_of({steps("00001111111"),  //
                                   calls("a.......b.."),  //
                                   work(Activity::compute, ".aa......bb")})),
            (Columns{{0, 4}, {4, 11}}));
}

TEST(Windows, EndTheLastStepOfARowWithTheHostOrItsWorkWhicheverIsLater) {
  EXPECT_EQ(columns_of(windows_of({steps("000.."), calls("a...."),  //
                                   work(Activity::compute, ".aaaa")})),
            (Columns{{0, 5}}));
  EXPECT_EQ(columns_of(windows_of({steps("00000"), calls("a...."),  //
                                   work(Activity::compute, ".a...")})),
            (Columns{{0, 5}}));
}

TEST(Windows, EndTheLastStepOfARowWithWorkOnAnyStream) {
  EXPECT_EQ(
      columns_of(windows_of({steps("000...."), calls("ab....."), work(Activity::compute, ".aaa..."),
                             work(Activity::copy, ".bbbbbb", {.stream = 9})})),
      (Columns{{0, 7}}));
}

TEST(Windows, LeaveTheTimeBetweenTwoVisitsToNoStep) {
  EXPECT_EQ(columns_of(windows_of({steps("00...11."),  //
                                   calls("a....b.."),  //
                                   work(Activity::compute, ".aa..bbb")})),
            (Columns{{0, 3}, {5, 8}}));
}

TEST(Windows, EndARowWhereTheIndicesDoNotFollow) {
  EXPECT_EQ(columns_of(windows_of({steps("0000222"),  //
                                   calls("a...b.."),  //
                                   work(Activity::compute, ".a...b.")})),
            (Columns{{0, 4}, {4, 7}}));
}

TEST(Windows, CountWorkBeforeTheFirstRecordedLaunchAsLaunchedBeforeTheFirstStep) {
  EXPECT_EQ(columns_of(windows_of({steps("..00000"),  //
                                   calls("....c.."),  //
                                   work(Activity::compute, "####.cc")})),
            (Columns{{4, 7}}));
}

TEST(Windows, CountOtherWorkWithoutALaunchRecordAsLaunchedAtItsStart) {
  // It starts in step 0, so step 1 waits for it …
  EXPECT_EQ(columns_of(windows_of({steps("000111.."),  //
                                   calls("a......."),  //
                                   work(Activity::compute, "aa##....")})),
            (Columns{{0, 4}, {4, 6}}));
  // … and here in step 1.
  EXPECT_EQ(columns_of(windows_of({steps("000111.."),  //
                                   calls("a......."),  //
                                   work(Activity::compute, "aa.####.")})),
            (Columns{{0, 3}, {3, 7}}));
}

TEST(Windows, WithoutAnyLaunchRecordNoWorkIsFromBeforeTheRecording) {
  EXPECT_EQ(columns_of(windows_of({steps("..0000"), work(Activity::compute, "..####")})),
            (Columns{{2, 6}}));
}

TEST(Windows, LeaveWhatOtherStreamsRunPastTheEndInTheNextWindowAndPrintIt) {
  const auto windows =
      windows_of({steps("00001111"), calls("ab..c..."), work(Activity::compute, ".aa...cc"),
                  work(Activity::copy, "..bbbb..", {.stream = 9}),
                  work(Activity::copy, "...####.", {.stream = 11})});
  EXPECT_EQ(columns_of(windows), (Columns{{0, 4}, {4, 8}}));
  EXPECT_EQ(windows[0].spill_ns, 3 * kColumnNs) << "the union of both";
  EXPECT_EQ(windows[1].spill_ns, 0);
}

TEST(Windows, MayBeEmptyWhenAStepLaunchesNothing) {
  EXPECT_EQ(columns_of(windows_of({steps("012...."),  //
                                   calls("a.c...."),  //
                                   work(Activity::compute, ".aaaccc")})),
            (Columns{{0, 4}, {4, 4}, {4, 7}}));
}

TEST(Windows, OfThreadsAreTheHostsSpans) {
  const auto timelines =
      find_timelines(draw_on_threads({steps("00011.22"), scopes(Phase::data, "#")}));
  ASSERT_EQ(timelines.size(), 1U);
  EXPECT_EQ(columns_of(timelines[0].windows), (Columns{{0, 3}, {3, 5}, {6, 8}}));
}

TEST(Windows, NoInstantIsInTwoEvenWhenARowLeavesWorkRunning) {
  const auto windows =
      windows_of({steps("00.11..."), calls("ab.c...."), work(Activity::compute, ".a..cc.."),
                  work(Activity::copy, ".bbbbbbb", {.stream = 9})});
  EXPECT_EQ(columns_of(windows), (Columns{{0, 3}, {3, 6}}));
  EXPECT_EQ(windows[0].spill_ns, 5 * kColumnNs);
}

TEST(OrderSteps, LeavesOutStepsThatTimeContradicts) {
  const std::vector<Step> ordered =
      order_steps({{2, 0, {20, 30}}, {0, 0, {0, 10}}, {1, 0, {30, 40}}, {3, 0, {40, 40}}});
  EXPECT_EQ(ordered, (std::vector<Step>{{0, 0, {0, 10}}, {2, 0, {20, 30}}}));
}

}  // namespace
}  // namespace ddpprof::test

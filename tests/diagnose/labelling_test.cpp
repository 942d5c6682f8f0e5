// label_windows() beside asking every instant, with windows that overlap, as no recorder writes.
#include "profiler/diagnose/timeline.h"

#include <algorithm>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr Label kGap{Phase::other, Activity::stall, StallKind::host};

std::vector<Busy> draw_busy(std::mt19937& random) {
  std::vector<Busy> busy(random() % 12U);
  for (Busy& one : busy) {
    one.began_ns = static_cast<std::int64_t>(random() % 40U);
    one.span = {one.began_ns + static_cast<std::int64_t>(random() % 3U),
                one.began_ns + static_cast<std::int64_t>(random() % 15U)};
    one.stream = random() % 3U;
    one.label = {static_cast<Phase>(random() % 3U), static_cast<Activity>(random() % 3U), {}};
  }
  return busy;
}

std::vector<Window> draw_windows(std::mt19937& random) {
  std::vector<Window> windows(random() % 5U);
  for (Window& window : windows) {
    window.span.begin_ns = static_cast<std::int64_t>(random() % 45U);
    window.span.end_ns = window.span.begin_ns + static_cast<std::int64_t>(random() % 20U);
  }
  std::ranges::sort(windows, {}, [](const Window& window) { return window.span.begin_ns; });
  return windows;
}

Label label_at(const std::vector<Busy>& busy, std::int64_t time_ns) {
  const auto key = [](const Busy& x) {
    return std::tuple(x.label.activity, x.began_ns, x.stream, x.label.phase);
  };
  std::optional<Busy> winner;
  for (const Busy& one : busy) {
    if (one.span.contains(time_ns) && (!winner || key(one) < key(*winner))) winner = one;
  }
  return winner ? winner->label : kGap;
}

TEST(LabelWindows, AgreesWithAskingEachInstantAlsoInWindowsThatOverlap) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<Busy> busy = draw_busy(random);
    const std::vector<Window> windows = draw_windows(random);
    const auto labelled = label_windows(
        windows, busy,
        [](Span gap, std::vector<Segment>& segments) { segments.push_back({gap, kGap}); });
    ASSERT_EQ(labelled.size(), windows.size());
    for (std::size_t i = 0; i < windows.size(); ++i) {
      std::int64_t at = windows[i].span.begin_ns;
      for (const Segment& segment : labelled[i]) {
        ASSERT_EQ(segment.span.begin_ns, at);
        for (; at < segment.span.end_ns; ++at) ASSERT_EQ(segment.label, label_at(busy, at));
      }
      ASSERT_EQ(at, windows[i].span.end_ns);
    }
  }
}

}  // namespace
}  // namespace ddpprof

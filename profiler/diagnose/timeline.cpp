#include "profiler/diagnose/timeline.h"

#include "profiler/diagnose/sweep.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace ddpprof {
namespace {

void append(std::vector<Segment>& segments, const Segment& segment) {
  if (segment.span.empty()) return;
  if (!segments.empty() && segments.back().label == segment.label) {
    segments.back().span.end_ns = segment.span.end_ns;
  } else {
    segments.push_back(segment);
  }
}

void check_cover(const Window& window, const std::vector<Segment>& segments) {
  std::int64_t at = window.span.begin_ns;
  for (const Segment& segment : segments) {
    if (segment.span.begin_ns != at || segment.span.empty()) {
      throw std::logic_error("labels do not cover the window of a step");
    }
    at = segment.span.end_ns;
  }
  if (at != window.span.end_ns) throw std::logic_error("labels end before the window of a step");
}

}  // namespace

std::vector<std::vector<Segment>> label_windows(
    const std::vector<Window>& windows, std::vector<Busy> busy,
    const std::function<void(Span, std::vector<Segment>&)>& label_gap) {
  std::ranges::sort(busy, [](const Busy& a, const Busy& b) {
    const auto key = [](const Busy& x) {
      return std::tuple(x.label.activity, x.began_ns, x.stream, x.label.phase, x.span);
    };
    return key(a) < key(b);
  });
  std::vector<Span> by_priority;
  by_priority.reserve(busy.size());
  for (const Busy& one : busy) by_priority.push_back(one.span);
  const std::vector<Piece> pieces = sweep(by_priority);

  std::vector<std::vector<Segment>> labelled;
  for (const Window& window : windows) {
    std::vector<Segment> segments, gap;
    std::int64_t at = window.span.begin_ns;
    const auto close_gap = [&](std::int64_t until) {
      if (at >= until) return;
      gap.clear();
      label_gap({at, until}, gap);
      for (const Segment& segment : gap) append(segments, segment);
    };
    auto piece = std::ranges::partition_point(
        pieces, [&](const Piece& candidate) { return candidate.span.end_ns <= at; });
    for (; piece != pieces.end() && piece->span.begin_ns < window.span.end_ns; ++piece) {
      const Span inside = clip(piece->span, window.span);
      close_gap(inside.begin_ns);
      append(segments, {inside, busy[piece->winner].label});
      at = std::max(at, inside.end_ns);
    }
    close_gap(window.span.end_ns);
    check_cover(window, segments);
    labelled.push_back(std::move(segments));
  }
  return labelled;
}

std::vector<DeviceTimeline> find_timelines(const Trace& trace) {
  if (trace.info.devices_are_threads) return find_thread_timelines(trace);
  return times_phases_alone(trace) ? find_phase_timelines(trace) : find_device_timelines(trace);
}

}  // namespace ddpprof

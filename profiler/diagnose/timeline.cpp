#include "profiler/diagnose/timeline.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

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

bool LosesAgainst::operator()(const Busy& a, const Busy& b) const {
  const auto key = [](const Busy& x) {
    return std::tuple(x.label.activity, x.began_ns, x.stream, x.label.phase, x.span);
  };
  return key(b) < key(a);
}

WindowLabeller::WindowLabeller(const std::vector<Window>& windows, LabelGap label_gap)
    : windows_(windows), label_gap_(std::move(label_gap)), segments_(windows.size()) {}

void WindowLabeller::add(const Busy& busy) {
  sweep_.add(busy, [this](Span piece, const Busy& winner) { book(piece, winner.label); });
}

std::vector<std::vector<Segment>> WindowLabeller::finish() {
  sweep_.finish([this](Span piece, const Busy& winner) { book(piece, winner.label); });
  while (first_open_ < windows_.size()) close(first_open_++);
  return std::move(segments_);
}

void WindowLabeller::book(Span piece, const Label& label) {
  while (first_open_ < windows_.size() && windows_[first_open_].span.end_ns <= piece.begin_ns) {
    close(first_open_++);
  }
  for (std::size_t i = first_open_; i < windows_.size(); ++i) {
    if (windows_[i].span.begin_ns >= piece.end_ns) return;
    const Span inside = clip(piece, windows_[i].span);
    if (inside.empty()) continue;
    fill_gap(i, inside.begin_ns);
    append(segments_[i], {inside, label});
  }
}

void WindowLabeller::fill_gap(std::size_t window, std::int64_t until_ns) {
  std::vector<Segment>& segments = segments_[window];
  const std::int64_t at =
      segments.empty() ? windows_[window].span.begin_ns : segments.back().span.end_ns;
  if (at >= until_ns) return;
  gap_.clear();
  label_gap_({at, until_ns}, gap_);
  for (const Segment& segment : gap_) append(segments, segment);
}

void WindowLabeller::close(std::size_t window) {
  fill_gap(window, windows_[window].span.end_ns);
  check_cover(windows_[window], segments_[window]);
}

std::vector<std::vector<Segment>> label_windows(const std::vector<Window>& windows,
                                                std::vector<Busy> busy, LabelGap label_gap) {
  const auto begin_of = [](const Busy& one) { return one.span.begin_ns; };
  if (!std::ranges::is_sorted(busy, {}, begin_of)) std::ranges::sort(busy, {}, begin_of);
  WindowLabeller labeller(windows, std::move(label_gap));
  for (const Busy& one : busy) labeller.add(one);
  return labeller.finish();
}

std::vector<DeviceTimeline> find_timelines(const Trace& trace) {
  if (trace.info.devices_are_threads) return find_thread_timelines(trace);
  return times_phases_alone(trace) ? find_phase_timelines(trace) : find_device_timelines(trace);
}

}  // namespace ddpprof

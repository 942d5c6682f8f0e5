// Half-open intervals of time and the set operations all accounting stands on.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace ddpprof {

// [begin_ns, end_ns). Units: nanoseconds of one clock, CLOCK_MONOTONIC for our own recordings.
// An interval with end_ns <= begin_ns is empty.
struct Span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  bool empty() const { return end_ns <= begin_ns; }
  std::int64_t length_ns() const { return empty() ? 0 : end_ns - begin_ns; }
  bool contains(std::int64_t time_ns) const { return begin_ns <= time_ns && time_ns < end_ns; }

  auto operator<=>(const Span&) const = default;
};

// Shape: sorted by begin, neither empty nor touching nor overlapping intervals.
using SpanSet = std::vector<Span>;

// The union of any intervals, in any order; empty ones are dropped, touching ones are merged.
SpanSet unite(std::vector<Span> spans);

// Adds an interval that begins no earlier than the last one added did.
void append(SpanSet& set, Span span);

// Shape: both arguments and the result are SpanSets.
SpanSet intersect(const SpanSet& a, const SpanSet& b);
SpanSet subtract(const SpanSet& a, const SpanSet& b);

// The part of `a` inside `window`.
SpanSet clip(const SpanSet& a, Span window);
Span clip(Span a, Span window);

// |x|: the sum of the lengths.
std::int64_t length_ns(const SpanSet& spans);

}  // namespace ddpprof

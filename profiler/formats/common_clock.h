// One clock for traces of many processes, for files that hold them all.
#pragma once

#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ddpprof {

// a + b and a - b, wrapping round instead of overflowing: a damaged trace may hold any time.
std::int64_t wrapping_sum(std::int64_t a, std::int64_t b);
std::int64_t wrapping_difference(std::int64_t a, std::int64_t b);

// Counts from the first event of all traces. Traces with the first one's boot id share its
// CLOCK_MONOTONIC; others are put in place by the time of day.
class CommonClock {
 public:
  explicit CommonClock(std::span<const Trace> traces);

  // What to add to a time of that trace. Units: nanoseconds, as all here.
  std::int64_t shift(std::size_t trace) const;
  // From the first event's begin to the last one's end.
  std::int64_t length_ns() const;
  // The time of day of 0, since 1970 UTC.
  std::int64_t epoch_ns() const { return epoch_ns_; }

 private:
  void widen(const Trace& trace, std::int64_t shift);

  std::vector<std::int64_t> shifts_;
  std::int64_t begin_ns_, end_ns_;
  std::int64_t epoch_ns_ = 0;
};

}  // namespace ddpprof

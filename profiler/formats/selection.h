// A part of traces, as a trace again: for viewers that cannot hold the whole.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ddpprof {

// Since the first step of all given traces began, on one clock (common_clock.h).
// Units: nanoseconds. Absent: open on that side.
struct TimeRange {
  std::optional<std::int64_t> begin_ns, end_ns;

  bool operator==(const TimeRange&) const = default;
};

// "1.5s:3s", "200ms:", ":40us"; a number without a unit is in seconds.
// Throws: UsageError that names --time-range.
TimeRange parse_time_range(std::string_view text);

// Steps, scopes, calls, work, phases of devices and collectives of all traces.
std::int64_t count_events(const std::vector<Trace>& traces);

// What overlaps the range, whole: spans are not cut, so that durations stay true. Work and the call
// that launched it are judged one by one. A collective whose work is left out no longer names it.
// A step that is not all in the range, or whose work is not, has losses then; `info.counts` are
// gone where steps are, since they are totals over all.
std::vector<Trace> select_time(std::vector<Trace> traces, const TimeRange& range);

// The longest beginning of the traces that ends where a step of one of them ends and holds at most
// `events_count` events, counted where they begin. All of it where there are no more.
// Throws: Error, subject --max-events, where not even the shortest does; it says how many that has.
std::vector<Trace> select_first(std::vector<Trace> traces, std::int64_t events_count);

}  // namespace ddpprof

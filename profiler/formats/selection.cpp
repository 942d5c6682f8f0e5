#include "profiler/formats/selection.h"

#include "profiler/formats/common_clock.h"
#include "profiler/formats/decimal_time.h"
#include "profiler/trace/error.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include <fmt/core.h>

namespace ddpprof {
namespace {

// Gives `act` each list of events of a trace.
template <typename AnyTrace, typename Act>
void for_each_list(AnyTrace& trace, const Act& act) {
  act(trace.steps);
  act(trace.scopes);
  act(trace.calls);
  act(trace.work);
  act(trace.device_phases);
  act(trace.collectives);
}

// A step that lost work it launched: its figures would be too small.
void mark_losses(Trace& trace, const std::unordered_set<std::int64_t>& lost_correlations) {
  for (const Call& call : trace.calls) {
    if (!lost_correlations.contains(call.correlation)) continue;
    for (Step& step : trace.steps) {
      step.has_losses = step.has_losses || step.span.contains(call.span.begin_ns);
    }
  }
}

// Leaves what `keeps` says of a span, and collectives that name the work that carries them.
// `is_whole`: of the span of a step, whether all of it was kept.
template <typename Keeps, typename IsWhole>
void filter(Trace& trace, const Keeps& keeps, const IsWhole& is_whole) {
  std::vector<std::optional<std::uint32_t>> places;
  std::unordered_set<std::int64_t> lost_correlations;
  std::uint32_t kept_count = 0;
  for (const Work& work : trace.work) {
    const bool is_kept = keeps(work.span);
    places.push_back(is_kept ? std::optional(kept_count++) : std::nullopt);
    if (!is_kept && work.correlation != 0) lost_correlations.insert(work.correlation);
  }
  for (Collective& one : trace.collectives) {
    if (one.work) one.work = places[*one.work];
  }
  const std::size_t steps_count = trace.steps.size();
  for_each_list(trace, [&](auto& events) {
    std::erase_if(events, [&](const auto& event) { return !keeps(event.span); });
  });
  if (trace.steps.size() < steps_count) trace.info.counts.clear();
  for (Step& step : trace.steps) step.has_losses = step.has_losses || !is_whole(step.span);
  mark_losses(trace, lost_correlations);
}

// When the first step began. Units: as CommonClock.
std::int64_t origin_ns(const std::vector<Trace>& traces, const CommonClock& clock) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (const Step& step : traces[i].steps) {
      origin = std::min(origin, wrapping_sum(step.span.begin_ns, clock.shift(i)));
    }
  }
  return origin == std::numeric_limits<std::int64_t>::max() ? 0 : origin;
}

[[noreturn]] void refuse(std::string_view text, const char* problem) {
  throw UsageError(fmt::format("--time-range {}", text), problem,
                   "such as 1.5s:3s, 200ms: or :40us, since the first step began");
}

// Empty: absent.
std::optional<std::int64_t> parse_time(std::string_view time, std::string_view whole) {
  if (time.empty()) return std::nullopt;
  constexpr std::array<std::pair<std::string_view, const char*>, 4> kUnits = {
      {{"ns", "e-3"}, {"us", "e0"}, {"ms", "e3"}, {"s", "e6"}}};  // in microseconds
  const char* exponent = "e6";
  for (const auto& [unit, power] : kUnits) {
    if (!time.ends_with(unit)) continue;
    time.remove_suffix(unit.size());
    exponent = power;
    break;
  }
  const bool is_plain = !time.empty() && time.find_first_not_of("0123456789.") == time.npos;
  const auto time_ns = is_plain ? parse_microseconds(std::string(time) + exponent) : std::nullopt;
  if (!time_ns) refuse(whole, "is no range of times");
  return time_ns;
}

}  // namespace

TimeRange parse_time_range(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos) refuse(text, "has no colon");
  const TimeRange range{.begin_ns = parse_time(text.substr(0, colon), text),
                        .end_ns = parse_time(text.substr(colon + 1), text)};
  if (range.begin_ns && range.end_ns && *range.begin_ns >= *range.end_ns) {
    refuse(text, "ends before it begins");
  }
  return range;
}

std::int64_t count_events(const std::vector<Trace>& traces) {
  std::size_t count = 0;
  for (const Trace& trace : traces) {
    for_each_list(trace, [&](const auto& events) { count += events.size(); });
  }
  return static_cast<std::int64_t>(count);
}

std::vector<Trace> select_time(std::vector<Trace> traces, const TimeRange& range) {
  const CommonClock clock(traces);
  const std::int64_t origin = origin_ns(traces, clock);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const std::int64_t to_range = wrapping_difference(clock.shift(i), origin);
    const auto in_range = [&](Span span) {
      const std::int64_t begin = wrapping_sum(span.begin_ns, to_range);
      return Span{begin, std::max(begin, wrapping_sum(span.end_ns, to_range))};
    };
    filter(
        traces[i],
        [&](Span span) {
          const auto [begin, end] = in_range(span);
          if (range.end_ns && begin >= *range.end_ns) return false;
          return !range.begin_ns || end > *range.begin_ns || begin == *range.begin_ns;
        },
        [&](Span span) {
          const auto [begin, end] = in_range(span);
          return (!range.begin_ns || begin >= *range.begin_ns) &&
                 (!range.end_ns || end <= *range.end_ns);
        });
  }
  return traces;
}

std::vector<Trace> select_first(std::vector<Trace> traces, std::int64_t events_count) {
  if (count_events(traces) <= events_count) return traces;
  const CommonClock clock(traces);
  std::vector<std::int64_t> begins, ends;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for_each_list(traces[i], [&](const auto& events) {
      for (const auto& event : events) {
        begins.push_back(wrapping_sum(event.span.begin_ns, clock.shift(i)));
      }
    });
    for (const Step& step : traces[i].steps) {
      ends.push_back(wrapping_sum(step.span.end_ns, clock.shift(i)));
    }
  }
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  const auto count_before = [&](std::int64_t end) {
    return std::ranges::lower_bound(begins, end) - begins.begin();
  };
  const auto cut = std::ranges::upper_bound(ends, events_count, {}, count_before);
  if (cut == ends.begin()) {
    throw Error(fmt::format("--max-events {}", events_count),
                ends.empty()
                    ? std::string("no step ends, and there are more events")
                    : fmt::format("the first step alone has {}", count_before(ends.front())),
                "ask for more, or for fewer ranks or strategies");
  }
  const std::int64_t end_ns = *std::prev(cut);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    filter(
        traces[i], [&](Span span) { return wrapping_sum(span.begin_ns, clock.shift(i)) < end_ns; },
        [&](Span span) { return wrapping_sum(span.end_ns, clock.shift(i)) <= end_ns; });
  }
  return traces;
}

}  // namespace ddpprof

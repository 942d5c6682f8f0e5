#include "profiler/diagnose/measure.h"

#include <algorithm>
#include <utility>

namespace ddpprof {
namespace {

struct TimedCollective {
  const Collective* collective = nullptr;
  std::optional<CollectiveTiming> timing;
};

// Those of one device. Where waits are known the collectives without a timing did not match and
// are left out everywhere, so that the parts add up.
std::vector<TimedCollective> select(const DeviceTimeline& timeline, const Trace& trace,
                                    const std::vector<std::optional<CollectiveTiming>>& timings,
                                    bool waits_are_known) {
  std::vector<TimedCollective> selected;
  for (const std::size_t i : timeline.collectives) {
    if (waits_are_known && !timings[i]) continue;
    selected.push_back({&trace.collectives[i], timings[i]});
  }
  return selected;
}

void measure_sets(const std::vector<TimedCollective>& collectives, const DeviceTimeline& timeline,
                  bool waits_are_known, std::vector<CollectiveFigures>& figures) {
  std::vector<Span> all, transfers;
  for (const auto& [collective, timing] : collectives) {
    all.push_back(collective->span);
    if (timing) {
      transfers.push_back({collective->span.end_ns - timing->transfer_ns, collective->span.end_ns});
    }
  }
  const SpanSet total = unite(std::move(all));
  const auto total_ns = lengths_in(total, timeline.windows);
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i].total_ns = total_ns[i];
  if (!timeline.compute) return;
  const auto hidden_ns = lengths_in(intersect(total, *timeline.compute), timeline.windows);
  const auto exposed_transfer_ns =
      lengths_in(subtract(unite(std::move(transfers)), *timeline.compute), timeline.windows);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i].hidden_ns = hidden_ns[i];
    if (!waits_are_known) continue;
    figures[i].exposed_transfer_ns = exposed_transfer_ns[i];
    figures[i].exposed_wait_ns = total_ns[i] - hidden_ns[i] - exposed_transfer_ns[i];
  }
}

std::vector<CollectiveFigures> measure_collectives(const std::vector<TimedCollective>& collectives,
                                                   const DeviceTimeline& timeline,
                                                   bool waits_are_known) {
  std::vector<CollectiveFigures> figures(timeline.windows.size());
  measure_sets(collectives, timeline, waits_are_known, figures);
  if (waits_are_known) {
    for (CollectiveFigures& one : figures) one.wait_ns = one.transfer_ns = 0;
  }
  for (const auto& [collective, timing] : collectives) {
    const auto window = window_at(timeline.windows, collective->span.begin_ns);
    if (!window) continue;
    CollectiveFigures& one = figures[*window];
    ++one.count;
    one.bytes += collective->bytes;
    if (!waits_are_known || !timing) continue;
    *one.wait_ns += timing->wait_ns;
    *one.transfer_ns += timing->transfer_ns;
  }
  return figures;
}

void measure_communication(const DeviceTimeline& timeline, std::vector<StepFigures>& figures) {
  if (!timeline.communication || !timeline.compute) return;
  const auto communication_ns = lengths_in(*timeline.communication, timeline.windows);
  const auto hidden_ns =
      lengths_in(intersect(*timeline.communication, *timeline.compute), timeline.windows);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    figures[i].communication_ns = communication_ns[i];
    figures[i].hidden_communication_ns = hidden_ns[i];
  }
}

}  // namespace

bool is_gradient_all_reduce(const Collective& collective) {
  return collective.gradient && collective.kind == CollectiveKind::all_reduce;
}

std::optional<std::size_t> window_at(const std::vector<Window>& windows, std::int64_t time_ns) {
  const auto found = std::ranges::partition_point(
      windows, [&](const Window& window) { return window.span.end_ns <= time_ns; });
  if (found == windows.end() || !found->span.contains(time_ns)) return std::nullopt;
  return static_cast<std::size_t>(found - windows.begin());
}

std::vector<std::int64_t> lengths_in(const SpanSet& set, const std::vector<Window>& windows) {
  std::vector<std::int64_t> lengths;
  for (const Window& window : windows) {
    std::int64_t sum = 0;
    auto span = std::ranges::partition_point(
        set, [&](const Span& candidate) { return candidate.end_ns <= window.span.begin_ns; });
    for (; span != set.end() && span->begin_ns < window.span.end_ns; ++span) {
      sum += clip(*span, window.span).length_ns();
    }
    lengths.push_back(sum);
  }
  return lengths;
}

std::vector<StepFigures> measure_steps(const DeviceTimeline& timeline, const Trace& trace,
                                       const std::vector<std::optional<CollectiveTiming>>& timings,
                                       bool waits_are_known) {
  const auto collectives = select(timeline, trace, timings, waits_are_known);
  auto gradients = collectives;
  std::erase_if(gradients, [](const TimedCollective& one) {
    return !is_gradient_all_reduce(*one.collective);
  });
  const auto all = measure_collectives(collectives, timeline, waits_are_known);
  const auto all_reduces = measure_collectives(gradients, timeline, waits_are_known);

  std::vector<StepFigures> figures;
  figures.reserve(timeline.windows.size());
  for (std::size_t i = 0; i < timeline.windows.size(); ++i) {
    const Window& window = timeline.windows[i];
    StepFigures step{.step = window.step,
                     .visit = window.visit,
                     .window_ns = window.span.length_ns(),
                     .breakdown = break_down(timeline.segments[i]),
                     .communication_ns = {},
                     .hidden_communication_ns = {},
                     .contention_ns = {},
                     .spill_ns = window.spill_ns,
                     .collectives = all[i],
                     .gradient_all_reduces = all_reduces[i]};
    if (timeline.contention_ns) step.contention_ns = (*timeline.contention_ns)[i];
    figures.push_back(step);
  }
  measure_communication(timeline, figures);
  return figures;
}

}  // namespace ddpprof

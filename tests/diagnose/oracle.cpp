#include "tests/diagnose/oracle.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace ddpprof::test {
namespace {

// Half the sum of all differences: the time under a wrong label.
std::int64_t misplaced_ns(const Breakdown& found, const Breakdown& truth) {
  Breakdown all = found;
  all.add(truth);
  std::int64_t sum = 0;
  for (const Label& label : all.labels()) sum += std::abs(found[label] - truth[label]);
  return (sum + 1) / 2;
}

std::optional<Activity> swapped(std::optional<Activity> activity) {
  if (activity == Activity::compute) return Activity::communication;
  return activity == Activity::communication ? Activity::compute : activity;
}

}  // namespace

Tables account(const Trace& trace) {
  Tables tables;
  for (const DeviceTimeline& timeline : find_timelines(trace)) {
    tables.emplace_back();
    for (const auto& segments : timeline.segments) tables.back().push_back(break_down(segments));
  }
  return tables;
}

Tables relabel(const Trace& trace,
               const std::function<Label(const std::vector<Segment>&, std::size_t)>& to_label) {
  Tables tables;
  for (const DeviceTimeline& timeline : find_timelines(trace)) {
    tables.emplace_back();
    for (const auto& segments : timeline.segments) {
      tables.back().emplace_back();
      for (std::size_t i = 0; i < segments.size(); ++i) {
        tables.back().back().add(to_label(segments, i), segments[i].span.length_ns());
      }
    }
  }
  return tables;
}

Tables hide_compute(const Trace& trace) {
  Trace changed = trace;
  for (Work& work : changed.work) work.activity = *swapped(work.activity);
  return relabel(changed, [](const std::vector<Segment>& segments, std::size_t i) {
    Label label = segments[i].label;
    label.activity = swapped(label.activity);
    return label;
  });
}

Tables blame_hosts(const Trace& trace) {
  return relabel(trace, [](const std::vector<Segment>& segments, std::size_t i) {
    Label label = segments[i].label;
    if (label.kind) label.kind = StallKind::host;
    return label;
  });
}

Tables use_next_phases(const Trace& trace) {
  return relabel(trace, [](const std::vector<Segment>& segments, std::size_t i) {
    Label label = segments[i].label;
    std::size_t next = i;
    while (next < segments.size() && segments[next].label.kind) ++next;
    if (next < segments.size()) label.phase = segments[next].label.phase;
    return label;
  });
}

Tables use_host_windows(const Trace& trace) {
  Tables tables;
  for (const DeviceTimeline& timeline : find_timelines(trace)) {
    tables.emplace_back();
    for (const Step& step : trace.steps) {
      Breakdown table;
      for (const auto& segments : timeline.segments) {
        for (const Segment& segment : segments) {
          table.add(segment.label, clip(segment.span, step.span).length_ns());
        }
      }
      tables.back().push_back(table);
    }
  }
  return tables;
}

double worst_error(const Tables& found, const Tables& truth) {
  double worst = found.size() == truth.size() ? 0 : 1;
  for (std::size_t device = 0; device < truth.size() && worst < 1; ++device) {
    for (std::size_t step = 0; step < truth[device].size(); ++step) {
      const auto window_ns = static_cast<double>(truth[device][step].total_ns());
      const auto wrong_ns =
          static_cast<double>(misplaced_ns(found[device][step], truth[device][step]));
      if (wrong_ns > 0) worst = std::max(worst, window_ns > 0 ? wrong_ns / window_ns : 1);
    }
  }
  return worst;
}

}  // namespace ddpprof::test

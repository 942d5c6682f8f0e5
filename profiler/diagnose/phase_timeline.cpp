// Devices whose work was not recorded: stretches of their main stream, timed by events.
#include "profiler/diagnose/timeline.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

using StretchesByStep = std::map<std::int64_t, std::vector<DevicePhase>>;

// Those of one device, of the steps that count and not empty, in order of time.
StretchesByStep select_stretches(const Trace& trace, const std::vector<Step>& steps,
                                 std::int32_t device) {
  StretchesByStep by_step;
  for (const Step& step : steps) by_step[step.index] = {};
  for (const DevicePhase& stretch : trace.device_phases) {
    if (stretch.device != device || stretch.span.empty()) continue;
    const auto found = by_step.find(stretch.step);
    if (found != by_step.end()) found->second.push_back(stretch);
  }
  for (auto& [step, stretches] : by_step) {
    std::ranges::sort(stretches, {}, [](const DevicePhase& stretch) {
      return std::tuple(stretch.span, stretch.phase);
    });
  }
  return by_step;
}

// The hull of each step's stretches. Where they reach into the step before, that one keeps the
// time, so that no instant is in two windows. A step without stretches has no window.
std::vector<Window> find_phase_windows(const std::vector<Step>& steps,
                                       const StretchesByStep& by_step) {
  std::vector<Window> windows;
  for (const Step& step : steps) {
    const std::vector<DevicePhase>& stretches = by_step.at(step.index);
    if (stretches.empty()) continue;
    Span hull = stretches.front().span;
    for (const DevicePhase& stretch : stretches) {
      hull.end_ns = std::max(hull.end_ns, stretch.span.end_ns);
    }
    if (!windows.empty()) hull.begin_ns = std::max(hull.begin_ns, windows.back().span.end_ns);
    hull.end_ns = std::max(hull.begin_ns, hull.end_ns);
    windows.push_back({.step = step.index, .visit = step.visit, .span = hull, .spill_ns = {}});
  }
  return windows;
}

// Steps whose stretches do not follow each other: within the step, or on the step before.
std::int64_t count_broken(const std::vector<Window>& windows, const StretchesByStep& by_step) {
  return std::ranges::count_if(windows, [&](const Window& window) {
    std::int64_t at = window.span.begin_ns;
    for (const DevicePhase& stretch : by_step.at(window.step)) {
      if (stretch.span.begin_ns != at) return true;
      at = stretch.span.end_ns;
    }
    return false;
  });
}

std::vector<Busy> to_busy(const StretchesByStep& by_step) {
  std::vector<Busy> busy;
  for (const auto& [step, stretches] : by_step) {
    for (const DevicePhase& stretch : stretches) {
      busy.push_back({.span = stretch.span,
                      .label = {stretch.phase, {}, {}},
                      .began_ns = stretch.span.begin_ns});
    }
  }
  return busy;
}

}  // namespace

bool times_phases_alone(const Trace& trace) {
  return !trace.info.devices_are_threads && trace.work.empty() && !trace.device_phases.empty();
}

std::vector<DeviceTimeline> find_phase_timelines(const Trace& trace) {
  const std::vector<Step> steps = order_steps(trace.steps);
  const std::vector<TraceDevice> devices = find_devices(trace);
  const auto collectives = find_collectives(trace, devices);
  const auto label_hole = [](Span hole, std::vector<Segment>& segments) {
    segments.push_back({hole, {Phase::other, {}, {}}});
  };

  std::vector<DeviceTimeline> timelines;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const StretchesByStep by_step = select_stretches(trace, steps, devices[device].id);
    DeviceTimeline timeline{.device = devices[device],
                            .windows = find_phase_windows(steps, by_step),
                            .segments = {},
                            .compute = {},
                            .communication = {},
                            .collectives = collectives[device],
                            .contention_ns = {},
                            .issues = {}};
    timeline.segments = label_windows(timeline.windows, to_busy(by_step), label_hole);
    if (const std::int64_t count = count_broken(timeline.windows, by_step); count > 0) {
      timeline.issues.push_back(
          {"phases-not-contiguous",
           "phases timed on a device overlap or leave holes in a step: the earlier one counts, and "
           "a hole is in other",
           count});
    }
    timelines.push_back(std::move(timeline));
  }
  return timelines;
}

}  // namespace ddpprof

// A device's time, labelled: the value from which every figure of a step is measured.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "profiler/diagnose/devices.h"
#include "profiler/diagnose/windows.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof {

// One device of one rank.
struct DeviceTimeline {
  TraceDevice device;
  std::vector<Window> windows;
  std::vector<std::vector<Segment>> segments;  // a list a window, which it covers exactly
  // K and C; absent where phases alone were timed, since then nobody knows what ran in them.
  std::optional<SpanSet> compute, communication;
  std::vector<std::size_t> collectives;  // indices into Trace::collectives
  // A window each; absent on threads, where phases alone were timed, and where no kernel has a twin
  // outside communication.
  std::optional<std::vector<std::int64_t>> contention_ns;
  std::vector<Issue> issues;  // flaws of this device's records
};

// All devices of a trace, in replica order.
// Guarantees: what order the records stand in changes nothing.
std::vector<DeviceTimeline> find_timelines(const Trace& trace);

// The three ways to read a trace; find_timelines() chooses.
std::vector<DeviceTimeline> find_device_timelines(const Trace& trace);
std::vector<DeviceTimeline> find_thread_timelines(const Trace& trace);

// Windows are the hulls of each step's stretches in Trace::device_phases; labels have a phase and
// neither activity nor kind. A step without stretches has no window; stretches of steps that are
// not in Trace::steps are left out. Of stretches that overlap the earlier one wins, holes are
// `other`, and an issue counts the steps in which that happened.
// Source: profiler/README.md, "Devices timed by events".
std::vector<DeviceTimeline> find_phase_timelines(const Trace& trace);

// Whether the trace has phases timed on devices and no work of theirs.
bool times_phases_alone(const Trace& trace);

// Something that occupies a device for a while, and the label the time gets that it wins.
struct Busy {
  Span span;
  Label label;
  std::int64_t began_ns = 0;  // of the whole that `span` is a part of
  std::int64_t stream = 0;
};

// The core of all accounting. At each instant the first of these wins: the activity of highest
// priority, then the earliest began_ns, then the lowest stream, then the phase. Between the
// winners, `label_gap` appends segments that cover a span in which nothing runs.
// Shape: one list a window; segments are contiguous and cover the window exactly.
std::vector<std::vector<Segment>> label_windows(
    const std::vector<Window>& windows, std::vector<Busy> busy,
    const std::function<void(Span, std::vector<Segment>&)>& label_gap);

}  // namespace ddpprof

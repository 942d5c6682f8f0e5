// A device's time, labelled: the value from which every figure of a step is measured.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "profiler/diagnose/devices.h"
#include "profiler/diagnose/sweep.h"
#include "profiler/diagnose/windows.h"
#include "profiler/trace/trace.h"

#include <cstddef>
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

// Appends segments that cover a span in which nothing runs.
using LabelGap = std::function<void(Span, std::vector<Segment>&)>;

// Whether b wins against a: by the activity of higher priority, then the earliest began_ns, then
// the lowest stream, then the phase.
struct LosesAgainst {
  bool operator()(const Busy& a, const Busy& b) const;
};

// The core of all accounting. At each instant what wins gives the label; between the winners it is
// label_gap(), which is asked in order of time.
class WindowLabeller {
 public:
  // `windows` are in order of their begins and outlive this.
  WindowLabeller(const std::vector<Window>& windows, LabelGap label_gap);

  // `busy` begins no earlier than the one before it.
  void add(const Busy& busy);

  // There is no more. Shape: one list a window; segments are contiguous and cover the window
  // exactly.
  std::vector<std::vector<Segment>> finish();

 private:
  void book(Span piece, const Label& label);
  void fill_gap(std::size_t window, std::int64_t until_ns);
  void close(std::size_t window);

  const std::vector<Window>& windows_;
  LabelGap label_gap_;
  OrderedSweep<Busy, LosesAgainst> sweep_{{}};
  std::vector<std::vector<Segment>> segments_;
  std::vector<Segment> gap_;
  std::size_t first_open_ = 0;  // windows before this one are done
};

// The same of what is at hand in any order.
std::vector<std::vector<Segment>> label_windows(const std::vector<Window>& windows,
                                                std::vector<Busy> busy, LabelGap label_gap);

}  // namespace ddpprof

// Device work with what is known of its launch: which call, when, and in which phase.
#pragma once

#include "profiler/diagnose/devices.h"
#include "profiler/diagnose/host_phases.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace ddpprof {

// launched_ns of work that was launched before anything was recorded.
inline constexpr std::int64_t kBeforeRecording = std::numeric_limits<std::int64_t>::min();

// What accounting needs of a Work, and no more: there are millions of them.
struct LaunchedWork {
  Span span;
  std::int64_t stream = 0;
  std::int64_t correlation = 0;
  std::int64_t launched_ns = 0;  // when the launch call began, or what stands for it
  const Call* call = nullptr;    // in the Trace, which must outlive this; null: no launch record
  NameId name;
  Activity activity = Activity::compute;
  Phase phase = Phase::other;  // that launched it
};

// Shape: one list a device, as in `devices`; each sorted by begin, without empty work.
// Guarantees: the order does not depend on the order of the records.
//
// Phase: the innermost scope open on the launching thread when the call began, else the
// process-wide phase of that device at that moment. Work that carries a gradient all-reduce is in
// `all_reduce` whatever the scope, since its collective record says so; parts of a CUDA graph are
// in the phase in which they were captured.
// Work without a launch record was launched before the recording if it starts before the first
// work that has one, else at its own start; its phase is the process-wide one at its own start.
// Source: profiler/README.md, "Steps and windows".
std::vector<std::vector<LaunchedWork>> find_launches(const Trace& trace,
                                                     const std::vector<TraceDevice>& devices,
                                                     const HostPhases& phases);

// LaunchedWork::launched_ns alone, of the work of all devices, in no order.
std::vector<std::int64_t> find_launch_times(const Trace& trace,
                                            const std::vector<TraceDevice>& devices);

// The stream with most compute time; without compute the one with most work. Of equal ones the
// lowest. Absent when there is no work.
std::optional<std::int64_t> find_main_stream(const std::vector<LaunchedWork>& work);

}  // namespace ddpprof

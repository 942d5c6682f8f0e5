// From a device profiler's records to a Trace: threads, names, positions, phases of CUDA graphs,
// losses, clocks, and what carries each collective. Pure, and without CUPTI.
#pragma once

#include "profiler/record/device_records.h"
#include "profiler/record/device_source.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace ddpprof {

// A set of four bytes on an idle device, and the host's clock on both sides of its launch and the
// wait for it: a piece of evidence of how the device's times stand to the host's. Or calls alone,
// which prove nothing and, like the others, do not become part of a trace.
struct ClockProbe {
  std::int32_t recording = 0;  // its number: each is put on the host's clock anew
  std::int32_t ordinal = 0;
  std::uint32_t thread = 0;  // the system's id
  Span host;
};

// When records may have been lost: nobody had room for them.
struct Losses {
  bool any() const { return count > 0 || !periods.empty() || has_more_periods; }

  std::int64_t count = 0;         // records that were dropped, as the profiler counts them
  std::vector<Span> periods;      // in which there was no room
  bool has_more_periods = false;  // than there is room for here
};

// What a recording on devices left behind. Names of threads are looked up by the caller.
struct DeviceRecording {
  DeviceRecords records;
  std::vector<std::int32_t> ordinals;  // of the process's devices, in replica order
  std::vector<ClockProbe> probes;
  Losses losses;
  bool has_failed = false;  // a call of the profiler's failed: no step can be trusted
  // The phase in which a part of a CUDA graph was captured, by its node.
  std::unordered_map<std::uint64_t, Phase> captured_phases;
  std::unordered_map<std::uint32_t, std::string> thread_names;
};

// Appends work and calls to a trace that has its threads and steps, and threads for calls that
// none of those made. Probes do not become part of the trace.
// Sets: device_clock_uncertainty_ns, collector_overheads_ns, Step::has_losses; adds to
// dropped_records; issues.
//
// Work of devices that are not the process's is left out. A call is its thread's by the system's
// id and the thread's life; a thread known by its number alone lives as long as it made calls.
// Losses: with any (records that were not finished are some, too), a step is marked when a period
// without room touches it, when a launch in it has no work, or when work starts in it (or in the
// step after it) that has no launch; when that finds none, all steps are.
void append_recording(DeviceRecording recording, Trace& trace);

// How far the device's times may be off the host's: the largest of the process's devices and
// recordings. Of a probe, true time = recorded time + d with
//     host begin - work begin <= d <= host end - work end
// and what all probes of a device in a recording allow for d is cut together. Absent without a
// probe.
std::optional<std::int64_t> find_clock_uncertainty(const DeviceRecording& recording);

// A collective as it was launched.
struct CollectiveLaunch {
  std::int32_t device = 0;   // position
  std::uint32_t thread = 0;  // the system's id
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;  // before begin_ns: never said
};

// Which work carries which collective, and its times:
//     start, end = the work's
//     ready = max(begin of the launch, end of the last work launched before it on the main stream),
//             never after start
// A collective is carried by the first communication kernel that its thread launched for its device
// between begin and end of its launch and that no collective before it took. Without one nothing
// moved (one rank alone): it has no work and no length; with `has_losses`, records of the devices
// having been lost, it is lost.
// `launches`: by index of the collective's handle.
void find_carriers(const Trace& trace,
                   const std::unordered_map<std::uint32_t, CollectiveLaunch>& launches,
                   bool has_losses, std::span<CollectiveTimes> collectives);

}  // namespace ddpprof

#include "profiler/record/device_trace.h"

#include "profiler/record/call_names.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <cxxabi.h>

namespace ddpprof {
namespace {

// "_ZN2at6native…" -> "at::native::…"; other names stay as they are.
std::string in_words(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string numbered_name(std::uint32_t system_id) { return "thread " + std::to_string(system_id); }

// Finds the thread of a trace that made a call; makes those it does not know.
class ThreadFinder {
 public:
  ThreadFinder(Trace& trace, const std::unordered_map<std::uint32_t, std::string>& names)
      : trace_(trace), names_(names) {
    for (std::uint32_t i = 0; i < trace.threads.size(); ++i) {
      known_[static_cast<std::uint32_t>(trace.threads[i].system_id)].push_back(i);
    }
  }

  ThreadId find(const DeviceCall& call) {
    std::vector<std::uint32_t>& candidates = known_[call.thread];
    for (const std::uint32_t index : candidates) {
      if (trace_.threads[index].life.contains(call.span.begin_ns)) return {index};
    }
    for (const std::uint32_t index : candidates) {
      Thread& thread = trace_.threads[index];
      if (!is_numbered(thread, call.thread)) continue;
      thread.life.begin_ns = std::min(thread.life.begin_ns, call.span.begin_ns);
      thread.life.end_ns = std::max(thread.life.end_ns, call.span.end_ns + 1);
      return {index};
    }
    const auto index = static_cast<std::uint32_t>(trace_.threads.size());
    trace_.threads.push_back({.system_id = call.thread,
                              .life = {call.span.begin_ns, call.span.end_ns + 1},
                              .name = numbered_name(call.thread),
                              .is_main = false,
                              .replica = {}});
    candidates.push_back(index);
    return {index};
  }

  // Last: until then a thread is recognised by its number.
  void name_the_numbered() {
    for (Thread& thread : trace_.threads) {
      const auto id = static_cast<std::uint32_t>(thread.system_id);
      const auto name = names_.find(id);
      if (name != names_.end() && is_numbered(thread, id)) thread.name = name->second;
    }
  }

 private:
  static bool is_numbered(const Thread& thread, std::uint32_t system_id) {
    return !thread.is_main && !thread.replica && thread.name == numbered_name(system_id);
  }

  Trace& trace_;
  const std::unordered_map<std::uint32_t, std::string>& names_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> known_;
};

using ProbesByCall = std::unordered_map<std::int64_t, const ClockProbe*>;  // by correlation

// All probes are made by one thread, one after the other.
ProbesByCall find_probe_calls(const DeviceRecording& recording) {
  std::vector<const ClockProbe*> probes;
  for (const ClockProbe& probe : recording.probes) probes.push_back(&probe);
  const auto begin_of = [](const ClockProbe* probe) { return probe->host.begin_ns; };
  std::ranges::sort(probes, {}, begin_of);
  ProbesByCall found;
  for (const DeviceCall& call : recording.records.calls) {
    const auto after = std::ranges::upper_bound(probes, call.span.begin_ns, {}, begin_of);
    if (after == probes.begin()) continue;
    const ClockProbe& probe = **std::prev(after);
    if (probe.thread == call.thread && call.span.end_ns <= probe.host.end_ns) {
      found[call.correlation] = &probe;
    }
  }
  return found;
}

std::optional<std::int32_t> position_of(const std::vector<std::int32_t>& ordinals,
                                        std::int32_t ordinal) {
  const auto found = std::ranges::find(ordinals, ordinal);
  if (found == ordinals.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - ordinals.begin());
}

std::optional<Phase> captured_phase(const DeviceOperation& operation,
                                    const std::unordered_map<std::uint64_t, Phase>& phases) {
  if (operation.graph_node == 0) return std::nullopt;
  const auto found = phases.find(operation.graph_node);
  return found == phases.end() ? Phase::graph : found->second;
}

// Steps by what they miss: Losses, above.
class LossMarker {
 public:
  LossMarker(const DeviceRecording& recording, Trace& trace)
      : recording_(recording), trace_(trace) {}

  void mark() {
    if (recording_.has_failed) return mark_all();
    if (!recording_.losses.any() && recording_.records.incomplete_count == 0) return;
    mark_periods();
    mark_launches_without_work();
    mark_work_without_launch();
    if (marked_count_ == 0 || recording_.losses.has_more_periods) mark_all();
  }

 private:
  void mark_all() {
    for (Step& step : trace_.steps) step.has_losses = true;
  }

  void mark_where(const auto& is_touched) {
    for (Step& step : trace_.steps) {
      if (!is_touched(step.span)) continue;
      step.has_losses = true;
      ++marked_count_;
    }
  }

  void mark_periods() {
    mark_where([&](Span step) {
      return std::ranges::any_of(recording_.losses.periods, [&](Span period) {
        return period.begin_ns < step.end_ns && step.begin_ns <= period.end_ns;
      });
    });
  }

  void mark_times(std::vector<std::int64_t> times_ns, bool and_the_step_before) {
    std::ranges::sort(times_ns);
    const auto has_one = [&](Span span) {
      const auto first = std::ranges::lower_bound(times_ns, span.begin_ns);
      return first != times_ns.end() && *first < span.end_ns;
    };
    std::vector<bool> touched;
    for (const Step& step : trace_.steps) touched.push_back(has_one(step.span));
    for (std::size_t i = 0; i < touched.size(); ++i) {
      const bool is_touched =
          touched[i] || (and_the_step_before && i + 1 < touched.size() && touched[i + 1]);
      if (!is_touched) continue;
      trace_.steps[i].has_losses = true;
      ++marked_count_;
    }
  }

  void mark_launches_without_work() {
    std::unordered_set<std::int64_t> with_work;
    for (const DeviceOperation& one : recording_.records.operations) {
      with_work.insert(one.correlation);
    }
    std::vector<std::int64_t> times_ns;
    for (const DeviceCall& call : recording_.records.calls) {
      if (launches_kernels(recording_.records.names[call.name]) &&
          !with_work.contains(call.correlation)) {
        times_ns.push_back(call.span.begin_ns);
      }
    }
    mark_times(std::move(times_ns), false);
  }

  // Who knows how long before its start it was launched: in its step or the one before.
  void mark_work_without_launch() {
    std::unordered_set<std::int64_t> launched;
    for (const DeviceCall& call : recording_.records.calls) launched.insert(call.correlation);
    std::vector<std::int64_t> times_ns;
    for (const DeviceOperation& one : recording_.records.operations) {
      if (!launched.contains(one.correlation)) times_ns.push_back(one.span.begin_ns);
    }
    mark_times(std::move(times_ns), true);
  }

  const DeviceRecording& recording_;
  Trace& trace_;
  std::int64_t marked_count_ = 0;
};

std::optional<std::int64_t> find_clock_uncertainty(const DeviceRecording& recording,
                                                   const ProbesByCall& probe_calls) {
  struct Bounds {
    std::int64_t least = std::numeric_limits<std::int64_t>::min();
    std::int64_t most = std::numeric_limits<std::int64_t>::max();
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Bounds> bounds;  // by recording and ordinal
  for (const DeviceOperation& one : recording.records.operations) {
    const auto found = probe_calls.find(one.correlation);
    if (found == probe_calls.end() || found->second->ordinal != one.ordinal) continue;
    const ClockProbe& probe = *found->second;
    Bounds& device = bounds[{probe.recording, one.ordinal}];
    device.least = std::max(device.least, probe.host.begin_ns - one.span.begin_ns);
    device.most = std::min(device.most, probe.host.end_ns - one.span.end_ns);
  }
  std::optional<std::int64_t> largest;
  for (const auto& [place, device] : bounds) {
    const std::int64_t error = std::max(std::abs(device.least), std::abs(device.most));
    largest = std::max(largest.value_or(0), error);
  }
  return largest;
}

}  // namespace

std::optional<std::int64_t> find_clock_uncertainty(const DeviceRecording& recording) {
  return find_clock_uncertainty(recording, find_probe_calls(recording));
}

void append_recording(DeviceRecording recording, Trace& trace) {
  LossMarker(recording, trace).mark();
  const ProbesByCall probe_calls = find_probe_calls(recording);
  if (const auto uncertainty_ns = find_clock_uncertainty(recording, probe_calls)) {
    trace.info.device_clock_uncertainty_ns = uncertainty_ns;
  }
  DeviceRecords& records = recording.records;

  NameTable table(trace.names);
  std::vector<NameId> names;
  for (const std::string& name : records.names) names.push_back(table.intern(in_words(name)));

  std::unordered_set<std::int64_t> launches, between_devices;
  trace.work.reserve(trace.work.size() + records.operations.size());
  for (const DeviceOperation& one : records.operations) {
    const auto position = position_of(recording.ordinals, one.ordinal);
    if (!position || probe_calls.contains(one.correlation)) continue;
    launches.insert(one.correlation);
    if (records.names[one.name].starts_with("Memcpy DtoD")) between_devices.insert(one.correlation);
    trace.work.push_back({.span = one.span,
                          .device = *position,
                          .stream = one.stream,
                          .activity = one.activity,
                          .name = names[one.name],
                          .correlation = one.correlation,
                          .bytes = one.bytes,
                          .captured_phase = captured_phase(one, recording.captured_phases)});
  }

  // In order of time, so that threads made here get a number that does not depend on buffers.
  std::ranges::sort(records.calls, {}, [](const DeviceCall& call) {
    return std::tuple(call.span, call.thread, call.correlation);
  });
  const std::unordered_set<std::int64_t> waits(records.synchronizing.begin(),
                                               records.synchronizing.end());
  ThreadFinder threads(trace, recording.thread_names);
  trace.calls.reserve(trace.calls.size() + records.calls.size());
  for (const DeviceCall& call : records.calls) {
    if (probe_calls.contains(call.correlation)) continue;
    trace.calls.push_back(
        {.span = call.span,
         .thread = threads.find(call),
         .name = names[call.name],
         .correlation = launches.contains(call.correlation) ? call.correlation : 0,
         .synchronizes =
             waits.contains(call.correlation) && !between_devices.contains(call.correlation)});
  }
  threads.name_the_numbered();

  trace.info.dropped_records += recording.losses.count;
  for (const auto& [kind, ns] : records.overheads_ns) {
    trace.info.collector_overheads_ns[kind] += ns;
  }
  if (records.incomplete_count > 0) {
    trace.issues.push_back({"device-record-incomplete",
                            "records were delivered without their times and are left out",
                            records.incomplete_count});
  }
}

}  // namespace ddpprof

#include "profiler/diagnose/launches.h"

#include "profiler/diagnose/call_index.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

std::vector<bool> find_gradient_all_reduces(const Trace& trace) {
  std::vector<bool> carries(trace.work.size(), false);
  for (const Collective& collective : trace.collectives) {
    if (collective.kind == CollectiveKind::all_reduce && collective.gradient && collective.work &&
        *collective.work < carries.size()) {
      carries[*collective.work] = true;
    }
  }
  return carries;
}

// Tells the phase that launched a piece of work.
class PhaseFinder {
 public:
  PhaseFinder(const Trace& trace, const HostPhases& phases)
      : trace_(trace), carries_gradients_(find_gradient_all_reduces(trace)) {
    for (const PhaseLine& line : phases.by_thread) by_thread_.emplace_back(line);
    for (std::size_t i = 0; i < phases.by_device.size(); ++i) by_device_.emplace_back(phases, i);
  }

  Phase operator()(std::size_t work, const Call* call, std::size_t device) {
    if (carries_gradients_[work]) return Phase::all_reduce;
    const auto& captured_phase = trace_.work[work].captured_phase;
    if (captured_phase) return *captured_phase;
    if (call == nullptr) return by_device_[device].at(trace_.work[work].span.begin_ns);
    const auto own = by_thread_[call->thread.index].at(call->span.begin_ns);
    return own ? *own : by_device_[device].at(call->span.begin_ns);
  }

 private:
  const Trace& trace_;
  const std::vector<bool> carries_gradients_;
  std::vector<PhaseReader> by_thread_;
  std::vector<ProcessPhaseReader> by_device_;
};

// The start of the work of the earliest recorded launch; absent without any.
std::optional<std::int64_t> first_recorded_start(const std::vector<LaunchedWork>& work) {
  std::optional<std::pair<std::int64_t, std::int64_t>> first;  // launch, start
  for (const LaunchedWork& launched : work) {
    if (launched.call == nullptr) continue;
    const std::pair candidate{launched.call->span.begin_ns, launched.span.begin_ns};
    first = first ? std::min(*first, candidate) : candidate;
  }
  if (!first) return std::nullopt;
  return first->second;
}

void date_unrecorded_launches(std::vector<LaunchedWork>& work) {
  const auto first_start = first_recorded_start(work);
  for (LaunchedWork& launched : work) {
    if (launched.call != nullptr) continue;
    const std::int64_t start = launched.span.begin_ns;
    launched.launched_ns = first_start && start < *first_start ? kBeforeRecording : start;
  }
}

// How much work each device has, so that none of it has to move while the lists grow.
std::vector<std::size_t> count_work(const Trace& trace, const std::vector<TraceDevice>& devices) {
  if (devices.size() == 1) return {trace.work.size()};
  std::vector<std::size_t> counts(devices.size(), 0);
  for (const Work& work : trace.work) {
    if (const auto device = position_of(devices, work.device)) ++counts[*device];
  }
  return counts;
}

// A list a device, in the order of the records. phase_of(position in Trace::work, call, device).
template <typename PhaseOf>
std::vector<std::vector<LaunchedWork>> join_calls(const Trace& trace,
                                                  const std::vector<TraceDevice>& devices,
                                                  PhaseOf phase_of) {
  const CallIndex calls(trace.calls);
  std::vector<std::vector<LaunchedWork>> by_device(devices.size());
  const auto counts = count_work(trace, devices);
  for (std::size_t i = 0; i < devices.size(); ++i) by_device[i].reserve(counts[i]);
  std::vector<bool> lacks_calls(devices.size(), false);
  for (std::size_t i = 0; i < trace.work.size(); ++i) {
    const Work& work = trace.work[i];
    const auto device = position_of(devices, work.device);
    if (work.span.empty() || work.activity == Activity::stall || !device) continue;
    const Call* call = calls.find(work.correlation);
    if (call == nullptr) lacks_calls[*device] = true;
    by_device[*device].push_back({.span = work.span,
                                  .stream = work.stream,
                                  .correlation = work.correlation,
                                  .launched_ns = call != nullptr ? call->span.begin_ns : 0,
                                  .call = call,
                                  .name = work.name,
                                  .activity = work.activity,
                                  .phase = phase_of(i, call, *device)});
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (lacks_calls[i]) date_unrecorded_launches(by_device[i]);
  }
  return by_device;
}

// By begin; few pieces of work begin together, and only of those is more compared.
void sort_by_begin(std::vector<LaunchedWork>& work, const std::vector<std::string>& names) {
  const auto begin_of = [](const LaunchedWork& x) { return x.span.begin_ns; };
  const auto full_key = [&](const LaunchedWork& x) {
    return std::tuple(x.span, x.stream, x.activity, x.phase, x.launched_ns, x.correlation,
                      std::string_view(names[x.name.index]));
  };
  if (!std::ranges::is_sorted(work, {}, begin_of)) std::ranges::sort(work, {}, begin_of);
  for (auto first = work.begin();;) {
    first = std::ranges::adjacent_find(first, work.end(), {}, begin_of);
    if (first == work.end()) return;
    const auto last = std::find_if(
        first, work.end(), [&](const LaunchedWork& x) { return begin_of(x) != begin_of(*first); });
    std::ranges::sort(first, last, {}, full_key);
    first = last;
  }
}

}  // namespace

std::vector<std::vector<LaunchedWork>> find_launches(const Trace& trace,
                                                     const std::vector<TraceDevice>& devices,
                                                     const HostPhases& phases) {
  auto by_device = join_calls(trace, devices, PhaseFinder(trace, phases));
  for (auto& work : by_device) sort_by_begin(work, trace.names);
  return by_device;
}

std::vector<std::int64_t> find_launch_times(const Trace& trace,
                                            const std::vector<TraceDevice>& devices) {
  const auto no_phase = [](std::size_t, const Call*, std::size_t) { return Phase::other; };
  std::vector<std::int64_t> times_ns;
  for (const auto& work : join_calls(trace, devices, no_phase)) {
    for (const LaunchedWork& launched : work) times_ns.push_back(launched.launched_ns);
  }
  return times_ns;
}

std::optional<std::int64_t> find_main_stream(const std::vector<LaunchedWork>& work) {
  // stream -> (compute time, time of all work)
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> busy_ns;
  auto of_stream = busy_ns.end();
  for (const LaunchedWork& launched : work) {
    // Most work is on the stream of the work before it.
    if (of_stream == busy_ns.end() || of_stream->first != launched.stream) {
      of_stream = busy_ns.try_emplace(launched.stream).first;
    }
    const std::int64_t length = launched.span.length_ns();
    auto& [compute_ns, all_ns] = of_stream->second;
    if (launched.activity == Activity::compute) compute_ns += length;
    all_ns += length;
  }
  std::optional<std::int64_t> main;
  for (const auto& [stream, ns] : busy_ns) {
    if (!main || busy_ns[*main] < ns) main = stream;
  }
  return main;
}

}  // namespace ddpprof

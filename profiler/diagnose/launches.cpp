#include "profiler/diagnose/launches.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

// Launch calls by correlation. Of several calls with one correlation (a runtime call and the
// driver call inside it) the outermost launched: it began first.
class CallIndex {
 public:
  explicit CallIndex(const Trace& trace) {
    for (const Call& call : trace.calls) {
      if (call.correlation != 0) calls_.push_back(&call);
    }
    std::ranges::sort(calls_, [](const Call* a, const Call* b) { return key(a) < key(b); });
  }

  const Call* find(std::int64_t correlation) const {
    if (correlation == 0) return nullptr;
    const auto found = std::ranges::lower_bound(calls_, correlation, {}, &Call::correlation);
    return found != calls_.end() && (*found)->correlation == correlation ? *found : nullptr;
  }

 private:
  static std::tuple<std::int64_t, std::int64_t, std::int64_t, ThreadId> key(const Call* call) {
    return {call->correlation, call->span.begin_ns, -call->span.end_ns, call->thread};
  }
  std::vector<const Call*> calls_;
};

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

Phase launch_phase(const LaunchedWork& launched, const HostPhases& phases, std::size_t device) {
  if (launched.work.captured_phase) return *launched.work.captured_phase;
  if (launched.call == nullptr) {
    return process_phase(phases, device, launched.work.span.begin_ns);
  }
  const std::int64_t begin_ns = launched.call->span.begin_ns;
  if (const auto own = phase_at(phases.by_thread[launched.call->thread.index], begin_ns)) {
    return *own;
  }
  return process_phase(phases, device, begin_ns);
}

// The start of the work of the earliest recorded launch; absent without any.
std::optional<std::int64_t> first_recorded_start(const std::vector<LaunchedWork>& work) {
  std::optional<std::pair<std::int64_t, std::int64_t>> first;  // launch, start
  for (const LaunchedWork& launched : work) {
    if (launched.call == nullptr) continue;
    const std::pair candidate{launched.call->span.begin_ns, launched.work.span.begin_ns};
    first = first ? std::min(*first, candidate) : candidate;
  }
  if (!first) return std::nullopt;
  return first->second;
}

void date_launches(std::vector<LaunchedWork>& work) {
  const auto first_start = first_recorded_start(work);
  for (LaunchedWork& launched : work) {
    const std::int64_t start = launched.work.span.begin_ns;
    if (launched.call != nullptr) {
      launched.launched_ns = launched.call->span.begin_ns;
    } else {
      launched.launched_ns = first_start && start < *first_start ? kBeforeRecording : start;
    }
  }
}

}  // namespace

std::vector<std::vector<LaunchedWork>> find_launches(const Trace& trace,
                                                     const std::vector<TraceDevice>& devices,
                                                     const HostPhases& phases) {
  const CallIndex calls(trace);
  const std::vector<bool> carries_gradients = find_gradient_all_reduces(trace);
  std::vector<std::vector<LaunchedWork>> by_device(devices.size());
  for (std::size_t i = 0; i < trace.work.size(); ++i) {
    const Work& work = trace.work[i];
    const auto device = position_of(devices, work.device);
    if (work.span.empty() || work.activity == Activity::stall || !device) continue;
    LaunchedWork launched{.work = work, .call = calls.find(work.correlation)};
    launched.phase =
        carries_gradients[i] ? Phase::all_reduce : launch_phase(launched, phases, *device);
    by_device[*device].push_back(launched);
  }
  for (auto& work : by_device) {
    date_launches(work);
    std::ranges::sort(work, [&](const LaunchedWork& a, const LaunchedWork& b) {
      const auto key = [&](const LaunchedWork& x) {
        return std::tuple(x.work.span, x.work.stream, x.work.activity, x.phase, x.launched_ns,
                          x.work.correlation, std::string_view(trace.names[x.work.name.index]),
                          x.work.bytes);
      };
      return key(a) < key(b);
    });
  }
  return by_device;
}

std::optional<std::int64_t> find_main_stream(const std::vector<LaunchedWork>& work) {
  // stream -> (compute time, time of all work)
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> busy_ns;
  for (const LaunchedWork& launched : work) {
    const std::int64_t length = launched.work.span.length_ns();
    auto& [compute_ns, all_ns] = busy_ns[launched.work.stream];
    if (launched.work.activity == Activity::compute) compute_ns += length;
    all_ns += length;
  }
  std::optional<std::int64_t> main;
  for (const auto& [stream, ns] : busy_ns) {
    if (!main || busy_ns[*main] < ns) main = stream;
  }
  return main;
}

}  // namespace ddpprof

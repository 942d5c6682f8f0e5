// Devices whose work was recorded: kernels, copies and the calls that launched them.
#include "profiler/diagnose/contention.h"
#include "profiler/diagnose/host_phases.h"
#include "profiler/diagnose/launches.h"
#include "profiler/diagnose/timeline.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

using CallsByThread = std::vector<std::vector<const Call*>>;

auto call_order(const Call* call) {
  return std::tuple(call->span.begin_ns, -call->span.end_ns, call->correlation, call->synchronizes);
}

CallsByThread order_calls(const Trace& trace) {
  CallsByThread by_thread(trace.threads.size());
  for (const Call& call : trace.calls) by_thread[call.thread.index].push_back(&call);
  for (auto& calls : by_thread) {
    std::ranges::sort(calls,
                      [](const Call* a, const Call* b) { return call_order(a) < call_order(b); });
  }
  return by_thread;
}

// The call that began last on this thread before `call` did. Null: there is none.
const Call* call_before(const CallsByThread& calls, const Call& call) {
  const auto& own = calls[call.thread.index];
  const auto found = std::ranges::partition_point(
      own, [&](const Call* candidate) { return call_order(candidate) < call_order(&call); });
  return found == own.begin() ? nullptr : *std::prev(found);
}

// A call whose end was not seen (end before begin) never returned.
bool had_returned(const Call& call, std::int64_t time_ns) {
  return call.span.end_ns >= call.span.begin_ns && call.span.end_ns <= time_ns;
}

// Names the cause of a time in which nothing runs on one device.
// Source: profiler/README.md, "One label a nanosecond".
class StallLabeller {
 public:
  StallLabeller(const std::vector<LaunchedWork>& work, std::optional<std::int64_t> main_stream,
                const CallsByThread& calls, const HostPhases& phases, std::size_t device)
      : calls_(calls), phases_(phases), device_(device) {
    for (const LaunchedWork& launched : work) {
      if (launched.work.stream == main_stream) main_work_.push_back(&launched);
    }
  }

  void operator()(Span stall, std::vector<Segment>& segments) const {
    const auto next = std::ranges::partition_point(main_work_, [&](const LaunchedWork* candidate) {
      return candidate->work.span.begin_ns < stall.begin_ns;
    });
    if (next == main_work_.end()) {
      return book(stall, StallKind::host, phases_.main, {}, segments);
    }
    const LaunchedWork& x = **next;
    if (x.call == nullptr) {
      // Launched at its own start, so far as anyone knows, and nobody knows by which thread.
      return book(stall, StallKind::host, phases_.by_device[device_], phases_.main, segments);
    }
    if (had_returned(*x.call, stall.begin_ns)) return book(stall, StallKind::queued, x, segments);

    const bool returns = x.call->span.end_ns >= x.call->span.begin_ns;
    const Span on_the_way{stall.begin_ns,
                          returns ? std::min(x.call->span.end_ns, stall.end_ns) : stall.end_ns};
    const Call* last = call_before(calls_, *x.call);
    const bool waits =
        last != nullptr && last->synchronizes && !had_returned(*last, stall.begin_ns);
    book_host(on_the_way, waits ? StallKind::sync : StallKind::host, x.call->thread, segments);
    book({on_the_way.end_ns, stall.end_ns}, StallKind::latency, x, segments);
  }

 private:
  static void book(Span span, StallKind kind, const LaunchedWork& x,
                   std::vector<Segment>& segments) {
    if (!span.empty()) segments.push_back({span, {x.phase, Activity::stall, kind}});
  }

  static void book(Span span, StallKind kind, const PhaseLine& upper, const PhaseLine& lower,
                   std::vector<Segment>& segments) {
    for (const PhasePiece& piece : phases_in(span, upper, lower)) {
      segments.push_back({piece.span, {piece.phase, Activity::stall, kind}});
    }
  }

  // The phases of the launching thread; while it has none, those of the process.
  void book_host(Span span, StallKind kind, ThreadId thread, std::vector<Segment>& segments) const {
    const PhaseLine process = phases_in(span, phases_.by_device[device_], phases_.main);
    book(span, kind, phases_.by_thread[thread.index], process, segments);
  }

  std::vector<const LaunchedWork*> main_work_;
  const CallsByThread& calls_;
  const HostPhases& phases_;
  std::size_t device_;
};

SpanSet unite_activity(const std::vector<LaunchedWork>& work, Activity activity) {
  std::vector<Span> spans;
  for (const LaunchedWork& launched : work) {
    if (launched.work.activity == activity) spans.push_back(launched.work.span);
  }
  return unite(std::move(spans));
}

std::vector<Busy> to_busy(const std::vector<LaunchedWork>& work) {
  std::vector<Busy> busy;
  for (const LaunchedWork& launched : work) {
    busy.push_back({.span = launched.work.span,
                    .label = {launched.phase, launched.work.activity, {}},
                    .began_ns = launched.work.span.begin_ns,
                    .stream = launched.work.stream});
  }
  return busy;
}

}  // namespace

std::vector<DeviceTimeline> find_device_timelines(const Trace& trace) {
  const std::vector<Step> steps = order_steps(trace.steps);
  const std::vector<TraceDevice> devices = find_devices(trace);
  const HostPhases phases = find_host_phases(trace, devices.size());
  const CallsByThread calls = order_calls(trace);
  const auto work_by_device = find_launches(trace, devices, phases);
  const auto collectives = find_collectives(trace, devices);

  std::vector<DeviceTimeline> timelines;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const std::vector<LaunchedWork>& work = work_by_device[device];
    const auto main_stream = find_main_stream(work);
    DeviceTimeline timeline{.device = devices[device],
                            .windows = find_device_windows(steps, work, main_stream),
                            .segments = {},
                            .compute = unite_activity(work, Activity::compute),
                            .communication = unite_activity(work, Activity::communication),
                            .collectives = collectives[device],
                            .contention_ns = {},
                            .issues = {}};
    timeline.segments = label_windows(timeline.windows, to_busy(work),
                                      StallLabeller(work, main_stream, calls, phases, device));
    timeline.contention_ns = find_contention(work, *timeline.communication, timeline.windows);
    timelines.push_back(std::move(timeline));
  }
  return timelines;
}

}  // namespace ddpprof

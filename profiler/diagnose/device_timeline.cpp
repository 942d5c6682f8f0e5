// Devices whose work was recorded: kernels, copies and the calls that launched them.
#include "profiler/diagnose/call_index.h"
#include "profiler/diagnose/contention.h"
#include "profiler/diagnose/host_phases.h"
#include "profiler/diagnose/launches.h"
#include "profiler/diagnose/timeline.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <limits>
#include <utility>

namespace ddpprof {
namespace {

// A call whose end was not seen (end before begin) never returned.
bool had_returned(const Call& call, std::int64_t time_ns) {
  return call.span.end_ns >= call.span.begin_ns && call.span.end_ns <= time_ns;
}

// Names the cause of a time in which nothing runs on one device.
// Source: profiler/README.md, "One label a nanosecond".
class StallLabeller {
 public:
  StallLabeller(const std::vector<LaunchedWork>& work, std::optional<std::int64_t> main_stream,
                SynchronizedCalls& synchronized, const HostPhases& phases, std::size_t device)
      : work_(work),
        main_stream_(main_stream),
        synchronized_(synchronized),
        process_(phases, device) {
    for (const PhaseLine& line : phases.by_thread) by_thread_.emplace_back(line);
  }

  void operator()(Span stall, std::vector<Segment>& segments) {
    const LaunchedWork* x = next_on_main_stream(stall.begin_ns);
    if (x == nullptr) return book_host(stall, StallKind::host, {&process_.main}, segments);
    if (x->call == nullptr) {
      // Launched at its own start, so far as anyone knows, and nobody knows by which thread.
      return book_host(stall, StallKind::host, {&process_.own, &process_.main}, segments);
    }
    if (had_returned(*x->call, stall.begin_ns)) return book(stall, StallKind::queued, *x, segments);

    const bool returns = x->call->span.end_ns >= x->call->span.begin_ns;
    const Span on_the_way{stall.begin_ns,
                          returns ? std::min(x->call->span.end_ns, stall.end_ns) : stall.end_ns};
    const Call* last = synchronized_.before(*x->call);
    const bool waits = last != nullptr && !had_returned(*last, stall.begin_ns);
    // The phases of the launching thread; while it has none, those of the process.
    PhaseReader& own = by_thread_[x->call->thread.index];
    book_host(on_the_way, waits ? StallKind::sync : StallKind::host,
              {&own, &process_.own, &process_.main}, segments);
    book({on_the_way.end_ns, stall.end_ns}, StallKind::latency, *x, segments);
  }

 private:
  // The next work to start on the main stream. Null: there is none.
  const LaunchedWork* next_on_main_stream(std::int64_t time_ns) {
    if (time_ns < asked_ns_) next_ = 0;
    asked_ns_ = time_ns;
    while (next_ < work_.size() &&
           (work_[next_].span.begin_ns < time_ns || work_[next_].stream != main_stream_)) {
      ++next_;
    }
    return next_ < work_.size() ? &work_[next_] : nullptr;
  }

  static void book(Span span, StallKind kind, const LaunchedWork& x,
                   std::vector<Segment>& segments) {
    if (!span.empty()) segments.push_back({span, {x.phase, Activity::stall, kind}});
  }

  static void book_host(Span stall, StallKind kind, std::initializer_list<PhaseReader*> lines,
                        std::vector<Segment>& segments) {
    visit_phases(stall, lines, [&](Span span, Phase phase) {
      segments.push_back({span, {phase, Activity::stall, kind}});
    });
  }

  const std::vector<LaunchedWork>& work_;
  const std::optional<std::int64_t> main_stream_;
  SynchronizedCalls& synchronized_;
  ProcessPhaseReader process_;
  std::vector<PhaseReader> by_thread_;
  // Stalls come in order of time, so the next work is looked for only ahead of the last.
  std::int64_t asked_ns_ = std::numeric_limits<std::int64_t>::min();
  std::size_t next_ = 0;
};

struct Unions {
  SpanSet compute, communication;  // K and C
};

Unions unite_work(const std::vector<LaunchedWork>& work) {
  Unions unions;
  unions.compute.reserve(work.size());  // at most; what is not used takes no memory
  for (const LaunchedWork& launched : work) {
    if (launched.activity == Activity::compute) append(unions.compute, launched.span);
    if (launched.activity == Activity::communication) append(unions.communication, launched.span);
  }
  return unions;
}

std::vector<std::vector<Segment>> label_work(const std::vector<Window>& windows,
                                             const std::vector<LaunchedWork>& work,
                                             StallLabeller& label_stall) {
  WindowLabeller labeller(windows, std::ref(label_stall));
  for (const LaunchedWork& launched : work) {
    labeller.add({.span = launched.span,
                  .label = {launched.phase, launched.activity, {}},
                  .began_ns = launched.span.begin_ns,
                  .stream = launched.stream});
  }
  return labeller.finish();
}

}  // namespace

std::vector<DeviceTimeline> find_device_timelines(const Trace& trace) {
  const std::vector<Step> steps = order_steps(trace.steps);
  const std::vector<TraceDevice> devices = find_devices(trace);
  const HostPhases phases = find_host_phases(trace, devices.size());
  SynchronizedCalls synchronized(trace);
  const auto work_by_device = find_launches(trace, devices, phases);
  const auto collectives = find_collectives(trace, devices);

  std::vector<DeviceTimeline> timelines;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    const std::vector<LaunchedWork>& work = work_by_device[device];
    const auto main_stream = find_main_stream(work);
    Unions unions = unite_work(work);
    DeviceTimeline timeline{.device = devices[device],
                            .windows = find_device_windows(steps, work, main_stream),
                            .segments = {},
                            .compute = std::move(unions.compute),
                            .communication = std::move(unions.communication),
                            .collectives = collectives[device],
                            .contention_ns = {},
                            .issues = {}};
    StallLabeller label_stall(work, main_stream, synchronized, phases, device);
    timeline.segments = label_work(timeline.windows, work, label_stall);
    timeline.contention_ns = find_contention(work, *timeline.communication, timeline.windows);
    timelines.push_back(std::move(timeline));
  }
  return timelines;
}

}  // namespace ddpprof

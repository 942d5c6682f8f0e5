// Devices that are host threads: what computes is a scope that says so.
#include "profiler/diagnose/host_phases.h"
#include "profiler/diagnose/sweep.h"
#include "profiler/diagnose/timeline.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

// A scope with what is its own: the time in which no scope inside it is open.
struct OwnTime {
  Scope scope;
  std::vector<Span> spans;             // in order
  std::optional<std::int64_t> cpu_ns;  // without the scopes inside it; absent: not measured
};

// The scopes of one thread, the innermost first (see innermost_phases).
void sort_innermost_first(std::vector<Scope>& scopes) {
  std::ranges::sort(scopes, [](const Scope& a, const Scope& b) {
    return std::tuple(b.span.begin_ns, a.span.end_ns, b.phase, b.computes, b.cpu_ns) <
           std::tuple(a.span.begin_ns, b.span.end_ns, a.phase, a.computes, a.cpu_ns);
  });
}

// Subtracts from each scope the CPU time of the scopes directly inside it. A scope inside that was
// not measured makes the outer one unmeasured.
void subtract_inner_cpu(std::vector<OwnTime>& own) {
  std::vector<OwnTime*> open;  // from the outermost to the innermost
  for (std::size_t i = own.size(); i-- > 0;) {
    OwnTime& inner = own[i];
    while (!open.empty() && open.back()->scope.span.end_ns <= inner.scope.span.begin_ns) {
      open.pop_back();
    }
    if (!open.empty()) {
      std::optional<std::int64_t>& outer = open.back()->cpu_ns;
      if (outer && inner.scope.cpu_ns) {
        *outer -= *inner.scope.cpu_ns;
      } else {
        outer.reset();
      }
    }
    open.push_back(&inner);
  }
}

std::vector<OwnTime> find_own_times(std::vector<Scope> scopes) {
  sort_innermost_first(scopes);
  std::vector<Span> by_priority;
  std::vector<OwnTime> own;
  for (const Scope& scope : scopes) {
    by_priority.push_back(scope.span);
    own.push_back({.scope = scope, .spans = {}, .cpu_ns = scope.cpu_ns});
  }
  for (const Piece& piece : sweep(by_priority)) own[piece.winner].spans.push_back(piece.span);
  subtract_inner_cpu(own);
  return own;
}

// Books a computing scope: the time in which the thread had no core is cut off the end of the
// scope's own time. Its length is exact, its place is not known.
void book_compute(const OwnTime& own, std::int64_t order, std::vector<Busy>& busy,
                  std::vector<Span>& compute) {
  std::int64_t wall_ns = 0;
  for (const Span& span : own.spans) wall_ns += span.length_ns();
  std::int64_t computed_ns = std::clamp(own.cpu_ns.value_or(wall_ns), std::int64_t{0}, wall_ns);
  for (const Span& span : own.spans) {
    const std::int64_t part_ns = std::min(span.length_ns(), computed_ns);
    computed_ns -= part_ns;
    const Span part{span.begin_ns, span.begin_ns + part_ns};
    if (part.empty()) continue;
    compute.push_back(part);
    busy.push_back({.span = part,
                    .label = {own.scope.phase, Activity::compute, {}},
                    .began_ns = own.scope.span.begin_ns,
                    .stream = order});
  }
}

// Which device a thread computes for; absent: for none (a loader, a watchdog).
std::optional<std::size_t> device_of(const Thread& thread) {
  if (thread.is_main) return 0;
  if (!thread.replica || *thread.replica < 0) return std::nullopt;
  return static_cast<std::size_t>(*thread.replica);
}

// Among threads that computed from the same instant on, main comes first.
std::int64_t order_of(const Thread& thread) {
  return thread.is_main ? std::numeric_limits<std::int64_t>::min() : thread.system_id;
}

Phase phase_of(const Collective& collective, ProcessPhaseReader& process) {
  if (collective.gradient && collective.kind == CollectiveKind::all_reduce) {
    return Phase::all_reduce;
  }
  return process.at(collective.ready_ns.value_or(collective.span.begin_ns));
}

}  // namespace

std::vector<DeviceTimeline> find_thread_timelines(const Trace& trace) {
  const std::vector<Step> steps = order_steps(trace.steps);
  const std::vector<TraceDevice> devices = find_devices(trace);
  const HostPhases phases = find_host_phases(trace, devices.size());

  std::vector<std::vector<Scope>> by_thread(trace.threads.size());
  for (const Scope& scope : trace.scopes) by_thread[scope.thread.index].push_back(scope);

  std::vector<std::vector<Busy>> busy(devices.size());
  std::vector<std::vector<Span>> compute(devices.size()), communication(devices.size());
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    const auto device = device_of(trace.threads[i]);
    if (!device) continue;
    for (const OwnTime& own : find_own_times(std::move(by_thread[i]))) {
      if (!own.scope.computes) continue;
      book_compute(own, order_of(trace.threads[i]), busy[*device], compute[*device]);
    }
  }
  const auto collectives = find_collectives(trace, devices);
  for (std::size_t device = 0; device < devices.size(); ++device) {
    ProcessPhaseReader process(phases, device);
    for (const std::size_t i : collectives[device]) {
      const Collective& collective = trace.collectives[i];
      const Label label{phase_of(collective, process), Activity::communication, {}};
      busy[device].push_back({.span = collective.span,
                              .label = label,
                              .began_ns = collective.span.begin_ns,
                              .stream = collective.sequence});
      communication[device].push_back(collective.span);
    }
  }

  std::vector<DeviceTimeline> timelines;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    ProcessPhaseReader process(phases, device);
    const auto label_wait = [&](Span wait, std::vector<Segment>& segments) {
      visit_phases(wait, {&process.own, &process.main}, [&](Span span, Phase phase) {
        segments.push_back({span, {phase, Activity::stall, {}}});
      });
    };
    DeviceTimeline timeline{.device = devices[device],
                            .windows = find_thread_windows(steps),
                            .segments = {},
                            .compute = unite(std::move(compute[device])),
                            .communication = unite(std::move(communication[device])),
                            .collectives = collectives[device],
                            .contention_ns = {},
                            .issues = {}};
    timeline.segments = label_windows(timeline.windows, std::move(busy[device]), label_wait);
    timelines.push_back(std::move(timeline));
  }
  return timelines;
}

}  // namespace ddpprof

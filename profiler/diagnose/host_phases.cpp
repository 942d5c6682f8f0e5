#include "profiler/diagnose/host_phases.h"

#include "profiler/diagnose/sweep.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

void append(PhaseLine& line, const PhasePiece& piece) {
  if (!line.empty() && line.back().phase == piece.phase &&
      line.back().span.end_ns == piece.span.begin_ns) {
    line.back().span.end_ns = piece.span.end_ns;
  } else {
    line.push_back(piece);
  }
}

std::int64_t begin_of(const Scope& scope) { return scope.span.begin_ns; }

}  // namespace

PhaseLine innermost_phases(std::vector<Scope> scopes) {
  if (!std::ranges::is_sorted(scopes, {}, begin_of)) std::ranges::sort(scopes, {}, begin_of);
  // Opened last wins; of two opened together the one that ends first is inside. Two scopes with the
  // same span do not say which is inside: the later phase of the enumeration, for a total order.
  const auto loses = [](const Scope& a, const Scope& b) {
    return std::tuple(a.span.begin_ns, b.span.end_ns, a.phase) <
           std::tuple(b.span.begin_ns, a.span.end_ns, b.phase);
  };
  OrderedSweep<Scope, decltype(loses)> open(loses);
  PhaseLine line;
  const auto emit = [&](Span span, const Scope& winner) { append(line, {span, winner.phase}); };
  for (const Scope& scope : scopes) open.add(scope, emit);
  open.finish(emit);
  return line;
}

HostPhases find_host_phases(const Trace& trace, std::size_t devices_count) {
  std::vector<std::vector<Scope>> by_thread(trace.threads.size());
  for (const Scope& scope : trace.scopes) by_thread[scope.thread.index].push_back(scope);

  const bool has_main = std::ranges::any_of(trace.threads, &Thread::is_main);
  std::vector<Scope> main;
  std::vector<std::vector<Scope>> by_device(devices_count);
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    const Thread& thread = trace.threads[i];
    if (has_main ? thread.is_main : !thread.replica) {
      std::ranges::copy(by_thread[i], std::back_inserter(main));
    } else if (thread.replica && *thread.replica >= 0 &&
               static_cast<std::size_t>(*thread.replica) < devices_count) {
      std::ranges::copy(by_thread[i],
                        std::back_inserter(by_device[static_cast<std::size_t>(*thread.replica)]));
    }
  }

  HostPhases phases;
  phases.main = innermost_phases(std::move(main));
  for (auto& scopes : by_thread) phases.by_thread.push_back(innermost_phases(std::move(scopes)));
  for (auto& scopes : by_device) phases.by_device.push_back(innermost_phases(std::move(scopes)));
  return phases;
}

}  // namespace ddpprof

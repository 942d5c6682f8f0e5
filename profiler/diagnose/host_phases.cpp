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

// The part of `line` that touches `span`, uncut.
std::span<const PhasePiece> touching(const PhaseLine& line, Span span) {
  const auto first = std::ranges::partition_point(
      line, [&](const PhasePiece& piece) { return piece.span.end_ns <= span.begin_ns; });
  const auto last = std::partition_point(first, line.end(), [&](const PhasePiece& piece) {
    return piece.span.begin_ns < span.end_ns;
  });
  return {first, last};
}

}  // namespace

PhaseLine innermost_phases(std::vector<Scope> scopes) {
  // Opened last first; of two opened together the one that ends first is inside. Two scopes with
  // the same span do not say which is inside: the later phase of the enumeration, for a total
  // order.
  std::ranges::sort(scopes, [](const Scope& a, const Scope& b) {
    return std::tuple(b.span.begin_ns, a.span.end_ns, b.phase) <
           std::tuple(a.span.begin_ns, b.span.end_ns, a.phase);
  });
  std::vector<Span> by_priority;
  by_priority.reserve(scopes.size());
  for (const Scope& scope : scopes) by_priority.push_back(scope.span);
  PhaseLine line;
  for (const Piece& piece : sweep(by_priority)) {
    append(line, {piece.span, scopes[piece.winner].phase});
  }
  return line;
}

std::optional<Phase> phase_at(const PhaseLine& line, std::int64_t time_ns) {
  const auto piece = std::ranges::partition_point(
      line, [&](const PhasePiece& candidate) { return candidate.span.end_ns <= time_ns; });
  if (piece == line.end() || !piece->span.contains(time_ns)) return std::nullopt;
  return piece->phase;
}

std::vector<PhasePiece> phases_in(Span span, const PhaseLine& upper, const PhaseLine& lower) {
  std::vector<Span> by_priority;
  std::vector<Phase> phases;
  for (const PhaseLine* line : {&upper, &lower}) {
    for (const PhasePiece& piece : touching(*line, span)) {
      by_priority.push_back(clip(piece.span, span));
      phases.push_back(piece.phase);
    }
  }
  by_priority.push_back(span);
  phases.push_back(Phase::other);
  PhaseLine covered;
  for (const Piece& piece : sweep(by_priority)) append(covered, {piece.span, phases[piece.winner]});
  return covered;
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

Phase process_phase(const HostPhases& phases, std::size_t device, std::int64_t time_ns) {
  if (const auto own = phase_at(phases.by_device[device], time_ns)) return *own;
  return phase_at(phases.main, time_ns).value_or(Phase::other);
}

}  // namespace ddpprof

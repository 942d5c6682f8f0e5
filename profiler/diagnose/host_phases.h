// The phase every thread and every device's own part of the process is in, at each instant.
#pragma once

#include "profiler/diagnose/cursor.h"
#include "profiler/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

namespace ddpprof {

struct PhasePiece {
  Span span;
  Phase phase = Phase::other;

  bool operator==(const PhasePiece&) const = default;
};

// Shape: sorted, no overlap; instants in no scope are in no piece.
using PhaseLine = std::vector<PhasePiece>;

// The innermost scope at each instant. Scopes of several threads may be given together: then it is
// the one that was opened last.
PhaseLine innermost_phases(std::vector<Scope> scopes);

// Reads a line, which must outlive it; cheap when it is asked about in order of time.
class PhaseReader {
 public:
  explicit PhaseReader(const PhaseLine& line) : line_(&line) {}

  std::optional<Phase> at(std::int64_t time_ns) {
    const PhasePiece* piece = next(time_ns);
    if (piece == nullptr || !piece->span.contains(time_ns)) return std::nullopt;
    return piece->phase;
  }

  // The first piece that ends after an instant. Null: there is none.
  const PhasePiece* next(std::int64_t time_ns) {
    const std::size_t found =
        cursor_.find(*line_, [&](const PhasePiece& piece) { return piece.span.end_ns <= time_ns; });
    return found == line_->size() ? nullptr : &(*line_)[found];
  }

 private:
  const PhaseLine* line_;
  Cursor cursor_;
};

// Covers `span` exactly and in order with pieces, visit(Span, Phase): at each instant the phase of
// the first line that has one, and `other` where none has.
template <typename Visit>
void visit_phases(Span span, std::initializer_list<PhaseReader*> lines, const Visit& visit) {
  while (!span.empty()) {
    Span piece = span;
    Phase phase = Phase::other;
    for (PhaseReader* line : lines) {
      const PhasePiece* next = line->next(span.begin_ns);
      if (next == nullptr) continue;
      if (next->span.begin_ns <= span.begin_ns) {
        piece.end_ns = std::min(piece.end_ns, next->span.end_ns);
        phase = next->phase;
        break;
      }
      // The lines below this one count until it goes on.
      piece.end_ns = std::min(piece.end_ns, next->span.begin_ns);
    }
    visit(piece, phase);
    span.begin_ns = piece.end_ns;
  }
}

struct HostPhases {
  std::vector<PhaseLine> by_thread;  // as Trace::threads
  PhaseLine main;                    // of the thread that runs the training loop
  // A device each: of the threads that work for this replica alone, whichever they are at an
  // instant; where none has a scope open the process-wide phase is that of `main`.
  std::vector<PhaseLine> by_device;
};

// A trace that marks no thread as main is treated as if all threads without a replica were it.
HostPhases find_host_phases(const Trace& trace, std::size_t devices_count);

// Reads the process-wide phase of a device: its own threads', else main's, else `other`.
class ProcessPhaseReader {
 public:
  ProcessPhaseReader(const HostPhases& phases, std::size_t device)
      : own(phases.by_device[device]), main(phases.main) {}

  Phase at(std::int64_t time_ns) {
    const auto phase = own.at(time_ns);
    return phase ? *phase : main.at(time_ns).value_or(Phase::other);
  }

  PhaseReader own, main;
};

}  // namespace ddpprof

// The phase every thread and every device's own part of the process is in, at each instant.
#pragma once

#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
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

std::optional<Phase> phase_at(const PhaseLine& line, std::int64_t time_ns);

// Covers `span` exactly and in order: the phases of `upper`, where it has none those of `lower`,
// and `other` for the rest.
std::vector<PhasePiece> phases_in(Span span, const PhaseLine& upper, const PhaseLine& lower);

struct HostPhases {
  std::vector<PhaseLine> by_thread;  // as Trace::threads
  PhaseLine main;                    // of the thread that runs the training loop
  // A device each: of the threads that work for this replica alone, whichever they are at an
  // instant; where none has a scope open the process-wide phase is that of `main`.
  std::vector<PhaseLine> by_device;
};

// A trace that marks no thread as main is treated as if all threads without a replica were it.
HostPhases find_host_phases(const Trace& trace, std::size_t devices_count);

// The process-wide phase of a device: its own threads', else main's, else `other`.
Phase process_phase(const HostPhases& phases, std::size_t device, std::int64_t time_ns);

}  // namespace ddpprof

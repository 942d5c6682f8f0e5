// Ranges for launches that no scope of their own thread holds: those of autograd's threads.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <vector>

namespace ddpprof {

// From the first to the last call that `thread` made outside scopes of its own while the main
// thread's innermost scope was `scope`, an index into Trace::scopes.
struct LaunchRange {
  Span span;
  ThreadId thread;
  std::uint32_t scope = 0;

  bool operator==(const LaunchRange&) const = default;
};

// Of all threads but the main one. The phase of such launches is the scope's: their work is booked
// there (profiler/README.md). Empty where no thread is marked as main.
// Shape: sorted by thread, then time. Ranges of one thread overlap no more than its calls do.
std::vector<LaunchRange> find_launch_ranges(const Trace& trace);

}  // namespace ddpprof

// The clocks of a recording.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <string>

namespace ddpprof {

// CPU time the calling thread got so far.
std::int64_t thread_cpu_ns() noexcept;

// Reads CLOCK_REALTIME between two reads of CLOCK_MONOTONIC, three times, and keeps the tightest.
// `monotonic_ns` is the middle of the two reads.
ClockPair read_clock_pair() noexcept;

// Empty when unknown.
std::string boot_id();
std::string host_name();

}  // namespace ddpprof

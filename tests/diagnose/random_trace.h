// Random traces for property tests: anything a recording may hold, plausible or not, and changes to
// them whose effect on the accounting is known.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <random>

namespace ddpprof::test {

// Overlapping work on several streams and devices, launches with and without work and the other
// way round, nested scopes, threads that come and go, two visits. All names differ.
Trace random_device_trace(std::uint32_t seed);

// Devices that are threads, with CPU times when `with_cpu_times`.
Trace random_thread_trace(std::uint32_t seed, bool with_cpu_times);

// Devices whose phases alone were timed, as a recorder does it: one or two devices, visits,
// stretches of a step without a gap, some of them empty, steps of a row without a gap; and
// collectives.
Trace random_phase_trace(std::uint32_t seed);

// The records, threads and names in another order, with all references kept.
Trace shuffle(const Trace& trace, std::uint32_t seed);

// Time stands still for `delay_ns` at `time_ns`: what is open then gets longer, what comes later
// moves. CPU times of what is open grow as well.
Trace delay(const Trace& trace, std::int64_t time_ns, std::int64_t delay_ns);

}  // namespace ddpprof::test

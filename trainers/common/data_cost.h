// What fetching a sample costs on purpose: --data-cost-us.
#pragma once

#include <cstdint>
#include <stop_token>

namespace ddpprof {

// Keeps the calling thread busy, as decoding and augmenting would, until it has computed for that
// long; a thread that others keep from its core takes longer by the clock on the wall. Ends early
// when `stop` is asked for.
// Units: CPU time of the calling thread (CLOCK_THREAD_CPUTIME_ID).
void compute_for(std::int64_t cpu_ns, const std::stop_token& stop);

}  // namespace ddpprof

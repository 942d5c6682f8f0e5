// A recording of a training loop, made up, for all benchmarks that need one.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>

namespace ddpprof {

// Steps of 1,000 kernels each; the last one has what is left.
inline constexpr std::int64_t kKernelsPerStep = 1000;

// DDP on one GPU, as the recorder writes it down. The main thread runs forward and the optimizer, a
// thread without scopes launches backward, and a third one copies the next batch. Every step
// synchronises once. Kernels take 2 to 9 us and are launched every 6 us, so that some queue up and
// about half leave a gap. All-reduces are on a stream of their own.
// Shape: records in the order of Recorder::take(); half of `events_count` are launch calls, the
// other half kernels and copies.
Trace make_training_trace(std::int64_t events_count);

}  // namespace ddpprof

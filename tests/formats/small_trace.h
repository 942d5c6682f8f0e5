// Hand-made traces that have everything the model knows once.
#pragma once

#include "profiler/trace/trace.h"

namespace ddpprof::test {

// Rank 1 of 2 under DDP on a GPU: two steps, and one all-reduce per bucket, of which the second is
// not carried by a kernel.
Trace small_trace();

// The same job on GPU 1 of its machine where nothing recorded the device's work: phases timed by
// events, and an all-reduce that no kernel record carries.
Trace phases_trace();

}  // namespace ddpprof::test

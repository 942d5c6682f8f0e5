// A hand-made trace that has everything the model knows once.
#pragma once

#include "profiler/trace/trace.h"

namespace ddpprof::test {

// Rank 1 of 2 under DDP on a GPU: two steps, and one all-reduce per bucket, of which the second is
// not carried by a kernel.
Trace small_trace();

}  // namespace ddpprof::test

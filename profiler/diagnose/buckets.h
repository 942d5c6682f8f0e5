// When each of DDP's gradient buckets was ready, began and ended.
#pragma once

#include "profiler/diagnose/diagnosis.h"
#include "profiler/diagnose/strategy.h"
#include "profiler/trace/trace.h"

#include <vector>

namespace ddpprof {

// Means over the steps, relative to the begin of the step's window, each step taken from its
// critical device; queued = start - ready. Where a bucket is reduced several times in a step
// (micro-batches that all synchronise) the last time counts.
// DDP rebuilds its buckets after the first synchronised iteration: only buckets of the last
// counted step are given, and a step adds to one only with the same index and bytes.
// Shape: sorted by index, then bytes. Empty where no source told when buckets were ready.
std::vector<BucketFigures> find_buckets(const MeasuredRun& measured, const Run& run);

}  // namespace ddpprof

// What communication that compute hides costs all the same: the kernels beside it run longer.
#pragma once

#include "profiler/diagnose/launches.h"
#include "profiler/diagnose/windows.h"
#include "profiler/trace/span.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ddpprof {

// contention = sum over the compute kernels that ran under communication, in whole or in part, of
// (duration - median of the same kernel elsewhere). "The same kernel" has the same name and runs
// on the same device; "elsewhere" is all the recording outside communication. Kernels without a
// twin elsewhere are left out. Noise may make the sum negative.
// Units: nanoseconds, a value a window, to which a kernel belongs by its start.
// Absent when kernels ran under communication and none of them has a twin.
// Source: profiler/README.md, "Overlap".
std::optional<std::vector<std::int64_t>> find_contention(const std::vector<LaunchedWork>& work,
                                                         const SpanSet& communication,
                                                         const std::vector<Window>& windows);

}  // namespace ddpprof

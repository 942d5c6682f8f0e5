// Random values of the model, for properties that must hold for every one.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <random>
#include <string>

namespace ddpprof::test {

using Random = std::mt19937_64;

bool random_bool(Random& random);
// 0 <= value < limit.
std::int64_t random_below(Random& random, std::int64_t limit);
// Small, huge, negative and the extremes.
std::int64_t random_integer(Random& random);
std::int32_t random_small_integer(Random& random);
// Valid UTF-8, with quotes, control characters, NUL and characters of up to four bytes.
std::string random_text(Random& random);
WorkloadInfo random_workload(Random& random);
std::vector<Device> random_devices(Random& random);

// Every field of the model takes every kind of value; vectors may be empty. Only what Trace
// guarantees holds: names are unique, indices are in range, no work is a stall.
Trace random_trace(Random& random);

}  // namespace ddpprof::test

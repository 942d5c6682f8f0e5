// Which row of a picture each of several overlapping intervals is drawn in.
#pragma once

#include "profiler/trace/span.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ddpprof {

// The lowest row that is free when the interval begins; ties in the order given.
//
//     |####         row 0
//     |  #####      row 1
//     |    ####     row 0, free again
//
// Shape: one row an interval, counted from 0. No row holds two intervals at an instant: viewers
// cannot draw those.
std::vector<std::int64_t> find_rows(std::span<const Span> spans);

}  // namespace ddpprof

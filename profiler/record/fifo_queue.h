// When queued collectives began to move, where the library only tells when they were handed over
// and when they ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ddpprof {

// One item of a first-in, first-out queue served by a fixed number of workers.
struct QueuedItem {
  std::int64_t ready_ns = 0;
  std::int64_t end_ns = 0;
};

// start = max(ready, the time the first worker became free), for each item in the order of
// submission; never later than the item's own end.
//
//     two workers    ready  start
//     a  |#####      0      0
//     b   |###       1      1
//     c    |..###    2      4   (b's worker is free)
//
// Shape: one start an item. `workers` below one counts as one.
std::vector<std::int64_t> find_fifo_starts(std::span<const QueuedItem> items, int workers);

}  // namespace ddpprof

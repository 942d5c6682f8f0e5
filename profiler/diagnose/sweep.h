// Which of many overlapping intervals holds at each instant. All labelling stands on this.
#pragma once

#include "profiler/trace/span.h"

#include <cstddef>
#include <span>
#include <vector>

namespace ddpprof {

// During `span`, by_priority[winner] holds.
struct Piece {
  Span span;
  std::size_t winner = 0;

  bool operator==(const Piece&) const = default;
};

// At each instant the first interval, in the order given, that contains it:
//
//     by_priority[0]      ..####....        Pieces   1100002222
//     by_priority[1]      ####......
//     by_priority[2]      ....######
//
// Shape: sorted by time, no overlap; instants that no interval contains are in no piece; pieces
// that touch have different winners. O(n log n).
std::vector<Piece> sweep(std::span<const Span> by_priority);

}  // namespace ddpprof

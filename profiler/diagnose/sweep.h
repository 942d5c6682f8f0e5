// Which of many overlapping intervals holds at each instant. All labelling stands on this.
#pragma once

#include "profiler/trace/span.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
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

// The same as a stream: items go in one by one, winners come out. Nothing is kept but the items
// that are open, so that a long recording costs O(n) as long as few of its items overlap. Item has
// a member `span`; loses(a, b) says whether b wins against a.
template <typename Item, typename Loses>
class OrderedSweep {
 public:
  explicit OrderedSweep(Loses loses) : loses_(std::move(loses)) {}

  // `item` begins no earlier than the one before it. Up to that begin the winners are known:
  // emit(Span, const Item&) is called with each, in order of time. A winner that others begin
  // beside may come in several pieces.
  template <typename Emit>
  void add(Item item, const Emit& emit) {
    const Span span = item.span;
    if (span.empty()) return;
    advance(span.begin_ns, emit);
    open_.push_back(std::move(item));
    std::ranges::push_heap(open_, loses_);
  }

  // There are no more items.
  template <typename Emit>
  void finish(const Emit& emit) {
    advance(std::numeric_limits<std::int64_t>::max(), emit);
  }

 private:
  template <typename Emit>
  void advance(std::int64_t until_ns, const Emit& emit) {
    while (!open_.empty()) {
      const Item& winner = open_.front();
      // Closed items are removed only when they come to the top: nobody asks before.
      if (winner.span.end_ns <= now_ns_) {
        std::ranges::pop_heap(open_, loses_);
        open_.pop_back();
        continue;
      }
      if (now_ns_ == until_ns) return;
      const Span piece{now_ns_, std::min(winner.span.end_ns, until_ns)};
      emit(piece, winner);
      now_ns_ = piece.end_ns;
    }
    now_ns_ = until_ns;
  }

  Loses loses_;
  std::vector<Item> open_;  // a heap with the winner on top
  std::int64_t now_ns_ = 0;
};

}  // namespace ddpprof

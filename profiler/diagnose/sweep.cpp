#include "profiler/diagnose/sweep.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>

namespace ddpprof {
namespace {

std::vector<std::size_t> order_by_begin(std::span<const Span> spans) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!spans[i].empty()) order.push_back(i);
  }
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return spans[a].begin_ns != spans[b].begin_ns ? spans[a].begin_ns < spans[b].begin_ns : a < b;
  });
  return order;
}

void append(std::vector<Piece>& pieces, const Piece& piece) {
  if (!pieces.empty() && pieces.back().winner == piece.winner &&
      pieces.back().span.end_ns == piece.span.begin_ns) {
    pieces.back().span.end_ns = piece.span.end_ns;
  } else {
    pieces.push_back(piece);
  }
}

}  // namespace

std::vector<Piece> sweep(std::span<const Span> by_priority) {
  const std::vector<std::size_t> order = order_by_begin(by_priority);
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> open;
  std::vector<Piece> pieces;
  std::int64_t now = 0;
  for (std::size_t next = 0; next < order.size() || !open.empty();) {
    // Closed intervals are removed only when they come to the top: nobody asks before.
    while (!open.empty() && by_priority[open.top()].end_ns <= now) open.pop();
    if (open.empty()) {
      if (next == order.size()) break;
      now = by_priority[order[next]].begin_ns;
    }
    while (next < order.size() && by_priority[order[next]].begin_ns <= now) {
      open.push(order[next++]);
    }
    const std::size_t winner = open.top();
    std::int64_t until = by_priority[winner].end_ns;
    if (next < order.size()) until = std::min(until, by_priority[order[next]].begin_ns);
    if (until > now) append(pieces, {{now, until}, winner});
    now = until;
  }
  return pieces;
}

}  // namespace ddpprof

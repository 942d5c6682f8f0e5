#include "profiler/diagnose/sweep.h"

#include <algorithm>

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
  struct Ranked {
    Span span;
    std::size_t rank = 0;
  };
  const auto loses = [](const Ranked& a, const Ranked& b) { return a.rank > b.rank; };
  OrderedSweep<Ranked, decltype(loses)> open(loses);
  std::vector<Piece> pieces;
  const auto emit = [&](Span span, const Ranked& winner) { append(pieces, {span, winner.rank}); };
  for (const std::size_t i : order_by_begin(by_priority)) open.add({by_priority[i], i}, emit);
  open.finish(emit);
  return pieces;
}

}  // namespace ddpprof

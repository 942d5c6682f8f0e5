#include "profiler/formats/rows.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

namespace ddpprof {

std::vector<std::int64_t> find_rows(std::span<const Span> spans) {
  std::vector<std::size_t> order(spans.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return spans[i]; });

  using Busy = std::pair<std::int64_t, std::int64_t>;  // until, row
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::set<std::int64_t> free_rows;
  std::vector<std::int64_t> rows(spans.size());
  std::int64_t rows_count = 0;
  for (const std::size_t i : order) {
    const Span span = spans[i];
    while (!busy.empty() && busy.top().first <= span.begin_ns) {
      free_rows.insert(busy.top().second);
      busy.pop();
    }
    rows[i] = free_rows.empty() ? rows_count++ : *free_rows.begin();
    free_rows.erase(rows[i]);
    busy.emplace(std::max(span.begin_ns, span.end_ns), rows[i]);
  }
  return rows;
}

}  // namespace ddpprof

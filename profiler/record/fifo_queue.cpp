#include "profiler/record/fifo_queue.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace ddpprof {

std::vector<std::int64_t> find_fifo_starts(std::span<const QueuedItem> items, int workers) {
  // When each worker becomes free, the first on top. More workers than items change nothing.
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> free_ns;
  const auto count = std::min(static_cast<std::size_t>(std::max(workers, 1)), items.size());
  for (std::size_t i = 0; i < count; ++i) free_ns.push(std::numeric_limits<std::int64_t>::min());

  std::vector<std::int64_t> starts;
  starts.reserve(items.size());
  for (const QueuedItem& item : items) {
    const std::int64_t start_ns = std::max(item.ready_ns, free_ns.top());
    starts.push_back(std::min(start_ns, item.end_ns));
    free_ns.pop();
    free_ns.push(item.end_ns);
  }
  return starts;
}

}  // namespace ddpprof

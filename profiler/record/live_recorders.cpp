#include "profiler/record/live_recorders.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ddpprof {
namespace {

struct LiveRecorders {
  std::mutex mutex;
  std::vector<std::pair<std::uint64_t, ThreadTable*>> entries;
};

// Never destroyed: threads may end after the statics of the program are gone.
LiveRecorders& live_recorders() {
  static LiveRecorders* const kLive = std::make_unique<LiveRecorders>().release();
  return *kLive;
}

}  // namespace

void add_live_recorder(std::uint64_t id, ThreadTable& threads) {
  LiveRecorders& live = live_recorders();
  const std::lock_guard lock(live.mutex);
  live.entries.emplace_back(id, &threads);
}

void remove_live_recorder(std::uint64_t id) noexcept {
  LiveRecorders& live = live_recorders();
  const std::lock_guard lock(live.mutex);
  std::erase_if(live.entries, [id](const auto& entry) { return entry.first == id; });
}

void detach_if_alive(std::uint64_t id, ThreadLog& log) noexcept {
  LiveRecorders& live = live_recorders();
  const std::lock_guard lock(live.mutex);
  for (const auto& [live_id, threads] : live.entries) {
    if (live_id == id) threads->detach(log, 0);
  }
}

}  // namespace ddpprof

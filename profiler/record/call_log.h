// Calls into the CUDA runtime and driver, written down by the threads that make them.
#pragma once

#include "profiler/record/activity_buffers.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ddpprof {

// A call that has returned. Units: CLOCK_MONOTONIC nanoseconds.
struct CallEntry {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint32_t thread;  // the system's id
  std::uint32_t correlation;
  std::uint32_t id;  // which call, in the numbers of its domain
  std::uint32_t is_driver;
};

// One a process, for ever: threads may end after whoever records.
// Threads: add() from any, without a lock and without allocating; it drops what has no room. The
// others from one thread.
class CallLog {
 public:
  // That make calls at a time; a training process has some ten, and two fresh ones a replica.
  static constexpr std::size_t kMostThreads = 1024;

  static CallLog& instance() noexcept;

  // From now on calls are kept, in buffers of kind `calls` of `buffers`, until stop().
  void start(ActivityBuffers& buffers) noexcept;
  // When it returns, all that was kept has been given to the buffers and no thread touches them.
  void stop() noexcept;

  void add(const CallEntry& call) noexcept;

  // Calls that had no room since the last call.
  std::int64_t take_dropped_count() noexcept { return dropped_count_.exchange(0); }

 private:
  // What one thread writes to, and after its end the next one. `is_busy` while it does, so that
  // stop() can wait for the end.
  struct Slot {
    std::atomic<bool> is_used = false;
    std::atomic<bool> is_busy = false;
    std::byte* buffer = nullptr;  // of the one who is busy, or of stop()
    std::size_t size = 0;
  };
  struct ThreadSlot;
  CallLog() = default;
  Slot* take_slot() noexcept;
  void append(Slot& slot, const CallEntry& call) noexcept;

  std::array<Slot, kMostThreads> slots_;
  std::atomic<ActivityBuffers*> buffers_ = nullptr;  // null: off
  std::atomic<std::int64_t> dropped_count_ = 0;
};

}  // namespace ddpprof

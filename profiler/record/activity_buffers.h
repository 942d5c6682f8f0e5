// The memory a device profiler writes its records into: zeroed buffers that are ready when it asks,
// and a thread that empties the full ones. Without CUPTI.
#pragma once

#include "profiler/record/device_trace.h"
#include "profiler/trace/span.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

namespace ddpprof {

// What is in a buffer.
enum class BufferKind : std::uint8_t { activities, calls };

// Threads: take() and give() from any, also many at once: they neither lock nor allocate nor throw.
// The rest from one thread, outside of steps. `consume` runs on a thread of its own, one buffer at
// a time.
//
//     take() -> filled by the profiler -> give() -> consume -> zeroed -> take() …
//
// When buffers run short the thread makes more, up to kMostBuffers; only when that is not fast
// enough does take() fail, and the period until it succeeds again is kept.
class ActivityBuffers {
 public:
  // Of a launch-bound step of 1,000 launches the kernels of four fit, or the calls of thirty. Each
  // thread that makes calls holds one, and so does each device.
  static constexpr std::size_t kBytes = std::size_t{1} << 20;
  static constexpr std::size_t kMostBuffers = 512;  // half a GiB
  static constexpr std::size_t kSpareBuffers = 12;  // some ten threads launch at a time
  static constexpr std::size_t kMostPeriods = 64;   // beyond, all steps count as hit

  using Consume = std::function<void(std::span<const std::byte>, BufferKind)>;
  explicit ActivityBuffers(Consume consume, std::size_t most_buffers = kMostBuffers);
  ~ActivityBuffers();
  ActivityBuffers(const ActivityBuffers&) = delete;
  ActivityBuffers& operator=(const ActivityBuffers&) = delete;

  // Makes kSpareBuffers, and touches their pages.
  void reserve() noexcept;

  // Shape: kBytes, all zero, aligned as records want it. Null: there is none.
  std::byte* take() noexcept;
  // `size`: of the records in it. What take() never gave is refused.
  void give(std::byte* buffer, std::size_t size, BufferKind kind = BufferKind::activities) noexcept;

  // Returns when all buffers given so far are consumed.
  void wait_until_consumed() noexcept;

  // In which take() had nothing to give; forgets them.
  void move_periods(Losses& losses) noexcept;

 private:
  struct Buffer {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;  // this and the next: of a full one
    BufferKind kind = BufferKind::activities;
    // A buffer is free, with the profiler, or full.
    enum class State : std::uint8_t { unmade, free, taken, full };
    std::atomic<State> state = State::unmade;
  };
  bool make_one() noexcept;
  std::size_t free_count() const noexcept;
  void work() noexcept;
  void empty(Buffer& buffer) noexcept;
  void end_period() noexcept;

  const Consume consume_;
  std::vector<Buffer> buffers_;  // made in order; never moved
  std::atomic<std::size_t> made_count_ = 0;
  std::mutex making_;
  std::counting_semaphore<> calls_{0};  // there is something to do
  std::atomic<std::uint64_t> given_count_ = 0, consumed_count_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::atomic<std::int64_t> short_since_ns_ = 0;  // 0: not short
  std::array<std::atomic<std::int64_t>, kMostPeriods> period_begins_ns_ = {};
  std::array<std::atomic<std::int64_t>, kMostPeriods> period_ends_ns_ = {};
  std::atomic<std::size_t> periods_count_ = 0;
  std::thread thread_;
};

}  // namespace ddpprof

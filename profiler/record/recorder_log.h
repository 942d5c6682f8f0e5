// The inside of Recorder: what all of its parts share.
#pragma once

#include "profiler/record/collective_log.h"
#include "profiler/record/recorder.h"
#include "profiler/record/thread_table.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace ddpprof {

inline constexpr std::size_t kCountersCount = 8;

struct Recorder::Log {
  Log(Options options, std::unique_ptr<DeviceSource> device_source);
  ~Log();

  // The calling thread's log, made now if need be; null when memory cannot be had.
  ThreadLog* thread_log() noexcept;
  // Null when the thread has none.
  ThreadLog* known_thread_log() const noexcept;
  ThreadLog* attach(const Thread& thread) noexcept;
  void drop(std::int64_t count = 1) noexcept {
    if (count != 0) dropped_count.fetch_add(count, std::memory_order_relaxed);
  }

  // `state`, the one word every call looks at first.
  static constexpr std::uint64_t kOn = 1;
  static constexpr std::uint64_t kInStep = 2;
  static constexpr std::uint64_t kAnnotates = 4;  // the source listens while off, too
  static constexpr std::uint64_t kEpoch = 8;      // the recording's number, times this
  static std::uint64_t epoch_of(std::uint64_t state_word) { return state_word / kEpoch; }

  std::atomic<std::uint64_t> state = 0;
  // What a call leaves in `state` beside the recording's number.
  std::uint64_t idle_flags() const { return source && source->annotates() ? kAnnotates : 0; }

  const std::uint64_t id;  // no two recorders of a process share it
  const Options options;
  const std::unique_ptr<DeviceSource> source;
  const ClockPair clock_begin;
  ThreadTable threads;
  CollectiveLog collectives;
  std::atomic<std::int64_t> dropped_count = 0;
  std::array<std::atomic<std::int64_t>, kCountersCount> counters = {};

  // The training loop's thread only.
  std::int32_t visit = 0;
  std::vector<Step> steps;
  std::optional<Step> open_step;
  std::int64_t dropped_before_step = 0;  // dropped_count at the begin of open_step
  std::uint64_t last_step_epoch = 0;     // of steps.back()
};

}  // namespace ddpprof

// Which threads take part in a recording, and which log each one writes to.
#pragma once

#include "profiler/record/thread_log.h"
#include "profiler/trace/trace.h"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace ddpprof {

// Threads: any; each call takes one lock. Only entering, leaving and a thread's first scope of a
// recording come here.
class ThreadTable {
 public:
  explicit ThreadTable(bool cpu_time);

  // Makes logs and chunks ahead of time for `count` threads.
  void reserve(std::size_t count) noexcept;

  // A log for the calling thread; null when memory cannot be had.
  ThreadLog* attach(const Thread& thread) noexcept;
  // Says more about the thread that `log` serves; its life stays as it is.
  void describe(ThreadLog& log, const Thread& thread) noexcept;
  // The log may serve another thread from now on. Scopes still open are forgotten; the result is
  // how many of them were begun in a step of recording `epoch`.
  std::int64_t detach(ThreadLog& log, std::uint64_t epoch) noexcept;

  // As above, over all threads.
  std::int64_t open_in_step_count(std::uint64_t epoch) const noexcept;

  struct Drained {
    std::vector<ScopeRecord> scopes;  // ScopeRecord::thread: index into `threads`
    std::vector<Thread> threads;      // those that are alive or have scopes; living ones end at now
  };
  Drained drain();

 private:
  struct Entry {
    Thread thread;
    bool is_used = false;
    bool is_alive = false;
  };
  ThreadLog* make_log();

  ChunkPool pool_;
  const bool cpu_time_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadLog>> logs_;
  std::vector<ThreadLog*> free_logs_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
};

}  // namespace ddpprof

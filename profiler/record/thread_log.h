// Where one thread writes down its scopes: no lock, no allocation while the current chunk has room.
// A log serves one thread at a time and is handed to another when that thread leaves.
#pragma once

#include "profiler/trace/labels.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace ddpprof {

// A closed scope.
struct ScopeRecord {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::optional<std::int64_t> cpu_ns;
  std::string_view name;
  std::optional<std::int32_t> replica;
  std::uint32_t thread;  // ThreadTable's slot
  Phase phase;
  bool computes;
};

struct ScopeChunk {
  static constexpr std::uint32_t kCapacity = 1024;

  std::atomic<std::uint32_t> used_count = 0;  // written by the thread, read by drain()
  std::uint32_t drained_count = 0;            // drain() only
  std::atomic<ScopeChunk*> next = nullptr;
  std::array<ScopeRecord, kCapacity> records;
};

// Chunks made ahead of time and used again. Owns every chunk it ever made.
// Threads: any; one lock a chunk, that is one in 1,024 scopes.
class ChunkPool {
 public:
  // Makes chunks until `count` are free, and touches their pages.
  void reserve(std::size_t count) noexcept;
  // Null when memory cannot be had.
  ScopeChunk* take() noexcept;
  void give_back(ScopeChunk* chunk) noexcept;
  std::size_t chunks_count() const noexcept;

 private:
  bool make_one() noexcept;  // with mutex_ held

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ScopeChunk>> owned_;
  std::vector<ScopeChunk*> free_;
};

// What begin_scope tells.
struct ScopeBegin {
  Phase phase = Phase::other;
  std::string_view name;
  bool computes = false;
  std::optional<std::int32_t> replica;
};

// `epoch` below is the number of the recording, counted from 1: scopes of another recording than
// the current one are forgotten.
class ThreadLog {
 public:
  static constexpr std::uint32_t kMaxDepth = 64;  // deeper scopes are dropped

  ThreadLog(ChunkPool& pool, bool cpu_time) noexcept : pool_(pool), cpu_time_(cpu_time) {}

  // Threads: the one the log serves. Each returns how many records were dropped.
  std::int64_t begin(std::uint64_t epoch, bool in_step, const ScopeBegin& scope) noexcept;
  std::int64_t end(std::uint64_t epoch) noexcept;
  void end_compute(std::uint64_t epoch) noexcept;

  // Threads: any. Scopes that were begun in a step of recording `epoch` and are open now.
  std::int64_t open_in_step_count(std::uint64_t epoch) const noexcept;
  // Moves all closed scopes out, in the order they were closed. One caller at a time; the thread
  // may go on writing.
  void drain(std::vector<ScopeRecord>& records);

  // The thread served. Changed only while no thread is.
  std::uint32_t thread = 0;
  std::optional<std::int32_t> replica;
  void forget_open_scopes() noexcept { set_open(0, 0); }

 private:
  struct Open {
    ScopeBegin scope;
    std::int64_t begin_ns;
    std::int64_t begin_cpu_ns;
    std::optional<std::int64_t> compute_end_ns;
    std::int64_t compute_end_cpu_ns;
    bool in_step;
  };
  bool append(const ScopeRecord& record) noexcept;
  void set_open(std::uint64_t epoch, std::uint32_t in_step_count) noexcept;

  ChunkPool& pool_;
  const bool cpu_time_;
  ScopeChunk* first_ = nullptr;  // oldest that is not drained; drain() and the first append only
  ScopeChunk* last_ = nullptr;   // the one being written
  std::atomic<ScopeChunk*> head_ = nullptr;
  std::array<Open, kMaxDepth> open_;
  std::uint32_t depth_ = 0;  // may exceed kMaxDepth
  std::uint64_t epoch_ = 0;  // of the scopes in open_
  std::uint32_t in_step_count_ = 0;
  std::atomic<std::uint64_t> published_open_ = 0;  // epoch * 256 + in_step_count
};

}  // namespace ddpprof

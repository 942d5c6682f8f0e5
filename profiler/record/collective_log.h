// Collectives under way: begun by one thread, often ended by another, with no lock on either side.
#pragma once

#include "profiler/record/recorder.h"
#include "profiler/trace/trace.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

// Texts that live as long as this table, each with a small id.
// Threads: any; a lock only when a text is new.
class SmallNameTable {
 public:
  static constexpr std::uint32_t kCapacity = 64;

  // kCapacity when the table is full or memory cannot be had.
  std::uint32_t intern(std::string_view name) noexcept;
  const std::string& name(std::uint32_t id) const { return names_[id]; }

 private:
  std::uint32_t find(std::string_view name) const noexcept;

  std::mutex mutex_;
  std::atomic<std::uint32_t> count_ = 0;
  std::array<std::string, kCapacity> names_;
};

// A collective that has ended; `collective.communicator` is the id in the SmallNameTable and the
// span runs from ready to end.
class CollectiveLog {
 public:
  static constexpr std::uint32_t kChunkSize = 1024;
  static constexpr std::uint32_t kChunksCount = 1U << 14;  // 16 million collectives, then dropped

  CollectiveLog();

  // Makes the next `count` slots ahead of time.
  void reserve(std::uint32_t count) noexcept;

  // Threads: any. An empty handle: the record is dropped.
  CollectiveHandle begin(const CollectiveStart& start) noexcept;
  void end(CollectiveHandle handle) noexcept;

  // Moves out what has ended, in the order of begin(); what has not is given up, and the time at
  // which it was ready appended to `given_up_ns`.
  // `indices`: of their handles, one each. One caller at a time; begin() and end() may go on.
  std::vector<Collective> drain(std::vector<std::int64_t>& given_up_ns,
                                std::vector<std::uint32_t>* indices = nullptr);
  const std::string& communicator(NameId id) const { return communicators_.name(id.index); }

 private:
  enum class State : std::uint8_t { unused, open, ending, ended, given_up };
  struct Slot {
    std::atomic<State> state = State::unused;
    Collective collective;
  };
  using Chunk = std::array<Slot, kChunkSize>;

  Slot* find(std::uint32_t index) const noexcept;
  Chunk* make_chunk(std::uint32_t number) noexcept;

  SmallNameTable communicators_;
  std::atomic<std::uint32_t> next_ = 0;
  std::uint32_t drained_ = 0;
  // A slot is used once: a handle that ends late can never hit another collective.
  std::vector<std::atomic<Chunk*>> chunks_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> owned_;
};

}  // namespace ddpprof

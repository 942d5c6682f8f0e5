#include "profiler/record/thread_log.h"

#include "profiler/record/clocks.h"
#include "profiler/record/recorder.h"

#include <new>

namespace ddpprof {

bool ChunkPool::make_one() noexcept {
  try {
    // Value-initialised, that is written to: the pages are there before the first scope is.
    owned_.push_back(std::make_unique<ScopeChunk>());
    free_.reserve(owned_.capacity());  // so that giving back never allocates
    free_.push_back(owned_.back().get());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void ChunkPool::reserve(std::size_t count) noexcept {
  const std::lock_guard lock(mutex_);
  while (free_.size() < count && make_one()) continue;
}

ScopeChunk* ChunkPool::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (free_.empty() && !make_one()) return nullptr;
  ScopeChunk* const chunk = free_.back();
  free_.pop_back();
  return chunk;
}

void ChunkPool::give_back(ScopeChunk* chunk) noexcept {
  chunk->used_count.store(0, std::memory_order_relaxed);
  chunk->drained_count = 0;
  chunk->next.store(nullptr, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  free_.push_back(chunk);
}

std::size_t ChunkPool::chunks_count() const noexcept {
  const std::lock_guard lock(mutex_);
  return owned_.size();
}

void ThreadLog::set_open(std::uint64_t epoch, std::uint32_t in_step_count) noexcept {
  if (epoch_ != epoch) depth_ = 0;
  epoch_ = epoch;
  in_step_count_ = in_step_count;
  published_open_.store(epoch * 256 + in_step_count, std::memory_order_relaxed);
}

std::int64_t ThreadLog::open_in_step_count(std::uint64_t epoch) const noexcept {
  const std::uint64_t published = published_open_.load(std::memory_order_relaxed);
  return published / 256 == epoch ? static_cast<std::int64_t>(published % 256) : 0;
}

std::int64_t ThreadLog::begin(std::uint64_t epoch, bool in_step, const ScopeBegin& scope) noexcept {
  // What an earlier recording left open can no longer be told from what was closed while off.
  if (epoch_ != epoch) set_open(epoch, 0);
  if (depth_ >= kMaxDepth) {
    ++depth_;
    return 1;
  }
  Open& open = open_[depth_++];
  open.scope = scope;
  if (!open.scope.replica) open.scope.replica = replica;
  open.in_step = in_step;
  open.compute_end_ns.reset();
  if (in_step) set_open(epoch, in_step_count_ + 1);
  // The CPU clock is read inside the wall-clock interval, so that CPU time never exceeds it.
  open.begin_ns = now_ns();
  if (cpu_time_) open.begin_cpu_ns = thread_cpu_ns();
  return 0;
}

void ThreadLog::end_compute(std::uint64_t epoch) noexcept {
  if (epoch_ != epoch || depth_ == 0 || depth_ > kMaxDepth) return;
  Open& open = open_[depth_ - 1];
  if (!open.scope.computes || open.compute_end_ns) return;
  if (cpu_time_) open.compute_end_cpu_ns = thread_cpu_ns();
  open.compute_end_ns = now_ns();
}

std::int64_t ThreadLog::end(std::uint64_t epoch) noexcept {
  if (epoch_ != epoch || depth_ == 0) return 0;
  if (depth_ > kMaxDepth) {
    --depth_;
    return 0;
  }
  const Open& open = open_[--depth_];
  std::optional<std::int64_t> cpu_ns;
  if (cpu_time_) cpu_ns = thread_cpu_ns() - open.begin_cpu_ns;
  ScopeRecord record{.begin_ns = open.begin_ns,
                     .end_ns = now_ns(),
                     .cpu_ns = cpu_ns,
                     .name = open.scope.name,
                     .replica = open.scope.replica,
                     .thread = thread,
                     .phase = open.scope.phase,
                     .computes = open.scope.computes && !open.compute_end_ns};
  if (open.in_step) set_open(epoch, in_step_count_ - 1);
  std::int64_t dropped_count = 0;
  if (open.compute_end_ns) {
    ScopeRecord computing = record;
    computing.computes = true;
    computing.end_ns = *open.compute_end_ns;
    if (cpu_time_) computing.cpu_ns = open.compute_end_cpu_ns - open.begin_cpu_ns;
    dropped_count += append(computing) ? 0 : 1;
  }
  // Last, as everything inside it has been written by now: drain() keeps this order.
  dropped_count += append(record) ? 0 : 1;
  return dropped_count;
}

bool ThreadLog::append(const ScopeRecord& record) noexcept {
  if (last_ == nullptr ||
      last_->used_count.load(std::memory_order_relaxed) == ScopeChunk::kCapacity) {
    ScopeChunk* const chunk = pool_.take();
    if (chunk == nullptr) return false;
    (last_ == nullptr ? head_ : last_->next).store(chunk, std::memory_order_release);
    last_ = chunk;
  }
  const std::uint32_t used_count = last_->used_count.load(std::memory_order_relaxed);
  last_->records[used_count] = record;
  last_->used_count.store(used_count + 1, std::memory_order_release);
  return true;
}

void ThreadLog::drain(std::vector<ScopeRecord>& records) {
  if (first_ == nullptr) first_ = head_.load(std::memory_order_acquire);
  while (first_ != nullptr) {
    const std::uint32_t used_count = first_->used_count.load(std::memory_order_acquire);
    records.insert(records.end(), first_->records.begin() + first_->drained_count,
                   first_->records.begin() + used_count);
    first_->drained_count = used_count;
    // The thread has let go of a chunk once it has linked the next one.
    ScopeChunk* const next = first_->next.load(std::memory_order_acquire);
    if (next == nullptr) return;
    if (first_->used_count.load(std::memory_order_acquire) != used_count) continue;
    pool_.give_back(first_);
    first_ = next;
  }
}

}  // namespace ddpprof

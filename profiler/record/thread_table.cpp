#include "profiler/record/thread_table.h"

#include "profiler/record/recorder.h"

#include <algorithm>
#include <new>
#include <tuple>

namespace ddpprof {

ThreadTable::ThreadTable(bool cpu_time) : cpu_time_(cpu_time) {}

ThreadLog* ThreadTable::make_log() {
  logs_.push_back(std::make_unique<ThreadLog>(pool_, cpu_time_));
  free_logs_.reserve(logs_.capacity());  // so that detach() never allocates
  return logs_.back().get();
}

void ThreadTable::reserve(std::size_t count) noexcept {
  pool_.reserve(count);
  const std::lock_guard lock(mutex_);
  try {
    while (free_logs_.size() < count) {
      ThreadLog* const log = make_log();
      free_logs_.push_back(log);
    }
    entries_.reserve(entries_.size() + 4096);
    free_entries_.reserve(entries_.capacity());
  } catch (const std::bad_alloc&) {
    return;  // attach() tries again, and counts what is lost
  }
}

ThreadLog* ThreadTable::attach(const Thread& thread) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (free_entries_.empty()) {
      entries_.emplace_back();
      free_entries_.reserve(entries_.capacity());  // so that drain() never fails half-way
      free_entries_.push_back(static_cast<std::uint32_t>(entries_.size() - 1));
    }
    if (free_logs_.empty()) free_logs_.push_back(make_log());
    Entry& entry = entries_[free_entries_.back()];
    entry.thread = thread;
    entry.is_used = entry.is_alive = true;
    ThreadLog* const log = free_logs_.back();
    log->thread = free_entries_.back();
    log->replica = thread.replica;
    free_entries_.pop_back();
    free_logs_.pop_back();
    return log;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void ThreadTable::describe(ThreadLog& log, const Thread& thread) noexcept {
  const std::lock_guard lock(mutex_);
  Thread& known = entries_[log.thread].thread;
  known.is_main = thread.is_main;
  known.replica = log.replica = thread.replica;
  try {
    known.name = thread.name;
  } catch (const std::bad_alloc&) {
    return;  // it keeps its old name
  }
}

std::int64_t ThreadTable::detach(ThreadLog& log, std::uint64_t epoch) noexcept {
  const std::int64_t end_ns = now_ns();
  const std::lock_guard lock(mutex_);
  const std::int64_t open_count = log.open_in_step_count(epoch);
  log.forget_open_scopes();
  Entry& entry = entries_[log.thread];
  entry.thread.life.end_ns = end_ns;
  entry.is_alive = false;
  free_logs_.push_back(&log);
  return open_count;
}

std::int64_t ThreadTable::open_in_step_count(std::uint64_t epoch) const noexcept {
  const std::lock_guard lock(mutex_);
  std::int64_t count = 0;
  for (const auto& log : logs_) count += log->open_in_step_count(epoch);
  return count;
}

ThreadTable::Drained ThreadTable::drain() {
  const std::lock_guard lock(mutex_);
  Drained drained;
  for (const auto& log : logs_) log->drain(drained.scopes);

  std::vector<bool> has_scopes(entries_.size());
  for (const ScopeRecord& scope : drained.scopes) has_scopes[scope.thread] = true;

  const std::int64_t end_ns = now_ns();
  std::vector<std::uint32_t> order;
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    Entry& entry = entries_[slot];
    if (!entry.is_used) continue;
    if (entry.is_alive) entry.thread.life.end_ns = end_ns;
    if (entry.is_alive || has_scopes[slot]) order.push_back(slot);
  }
  std::ranges::sort(order, {}, [&](std::uint32_t slot) {
    const Thread& thread = entries_[slot].thread;
    return std::tuple(!thread.is_main, thread.life, thread.system_id, slot);
  });

  std::vector<std::uint32_t> index_of(entries_.size());
  for (const std::uint32_t slot : order) {
    index_of[slot] = static_cast<std::uint32_t>(drained.threads.size());
    drained.threads.push_back(entries_[slot].thread);
  }
  for (ScopeRecord& scope : drained.scopes) scope.thread = index_of[scope.thread];

  // Nothing refers to the entries of threads that left: they can serve others.
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    Entry& entry = entries_[slot];
    if (!entry.is_used || entry.is_alive) continue;
    entry.is_used = false;
    free_entries_.push_back(slot);
  }
  return drained;
}

}  // namespace ddpprof

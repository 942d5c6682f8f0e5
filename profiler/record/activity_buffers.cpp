#include "profiler/record/activity_buffers.h"

#include "profiler/record/recorder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <pthread.h>

namespace ddpprof {

ActivityBuffers::ActivityBuffers(Consume consume, std::size_t most_buffers)
    : consume_(std::move(consume)), buffers_(most_buffers) {
  thread_ = std::thread([this] { work(); });
  pthread_setname_np(thread_.native_handle(), "ddpprof-records");
}

ActivityBuffers::~ActivityBuffers() {
  is_ending_ = true;
  calls_.release();
  thread_.join();
}

bool ActivityBuffers::make_one() noexcept {
  const std::lock_guard lock(making_);
  const std::size_t index = made_count_.load();
  if (index == buffers_.size()) return false;
  try {
    // Value-initialised, that is written to: the pages are there before the profiler writes.
    buffers_[index].bytes = std::make_unique<std::byte[]>(kBytes);
  } catch (const std::bad_alloc&) {
    return false;
  }
  buffers_[index].state.store(Buffer::State::free, std::memory_order_release);
  made_count_.store(index + 1, std::memory_order_release);
  return true;
}

std::size_t ActivityBuffers::free_count() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      buffers_, [](const Buffer& one) { return one.state.load() == Buffer::State::free; }));
}

void ActivityBuffers::reserve() noexcept {
  wait_until_consumed();
  while (free_count() < kSpareBuffers && make_one()) continue;
}

std::byte* ActivityBuffers::take() noexcept {
  const std::size_t count = made_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    Buffer& buffer = buffers_[i];
    auto free = Buffer::State::free;
    if (buffer.state.load(std::memory_order_relaxed) != free) continue;
    if (!buffer.state.compare_exchange_strong(free, Buffer::State::taken,
                                              std::memory_order_acquire)) {
      continue;
    }
    end_period();
    calls_.release();  // there is one spare less
    return buffer.bytes.get();
  }
  std::int64_t none = 0;
  short_since_ns_.compare_exchange_strong(none, now_ns());
  calls_.release();
  return nullptr;
}

void ActivityBuffers::give(std::byte* bytes, std::size_t size, BufferKind kind) noexcept {
  const std::size_t count = made_count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    Buffer& buffer = buffers_[i];
    if (buffer.bytes.get() != bytes || buffer.state.load() != Buffer::State::taken) continue;
    buffer.size = std::min(size, kBytes);
    buffer.kind = kind;
    given_count_.fetch_add(1);
    buffer.state.store(Buffer::State::full, std::memory_order_release);
    calls_.release();
    return;
  }
}

void ActivityBuffers::end_period() noexcept {
  if (short_since_ns_.load(std::memory_order_relaxed) == 0) return;
  const std::int64_t since_ns = short_since_ns_.exchange(0);
  if (since_ns == 0) return;
  const std::size_t index = periods_count_.fetch_add(1);
  if (index >= kMostPeriods) return;
  period_begins_ns_[index] = since_ns;
  period_ends_ns_[index] = now_ns();
}

void ActivityBuffers::work() noexcept {
  while (true) {
    calls_.acquire();
    if (is_ending_) return;
    const std::size_t count = made_count_.load();
    for (std::size_t i = 0; i < count; ++i) {
      if (buffers_[i].state.load(std::memory_order_acquire) == Buffer::State::full) {
        empty(buffers_[i]);
      }
    }
    while (free_count() < kSpareBuffers / 2 && make_one()) continue;
  }
}

void ActivityBuffers::empty(Buffer& buffer) noexcept {
  const std::size_t size = buffer.size;
  consume_({buffer.bytes.get(), size}, buffer.kind);
  std::memset(buffer.bytes.get(), 0, size);
  buffer.state.store(Buffer::State::free, std::memory_order_release);
  consumed_count_.fetch_add(1);
  consumed_count_.notify_all();
}

void ActivityBuffers::wait_until_consumed() noexcept {
  const std::uint64_t given_count = given_count_.load();
  for (std::uint64_t count = consumed_count_.load(); count < given_count;
       count = consumed_count_.load()) {
    consumed_count_.wait(count);
  }
}

void ActivityBuffers::move_periods(Losses& losses) noexcept {
  if (const std::int64_t since_ns = short_since_ns_.exchange(0); since_ns != 0) {
    losses.periods.push_back({since_ns, now_ns()});
  }
  const std::size_t count = periods_count_.exchange(0);
  for (std::size_t i = 0; i < std::min(count, kMostPeriods); ++i) {
    losses.periods.push_back({period_begins_ns_[i], period_ends_ns_[i]});
  }
  losses.has_more_periods = losses.has_more_periods || count > kMostPeriods;
}

}  // namespace ddpprof

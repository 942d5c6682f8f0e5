// Threads that make items ahead of the one who takes them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace ddpprof {

// Guarantees: items are taken in the order of their indices, whichever thread made them and
// whenever it was ready. At most `capacity` are made or being made beyond those that were taken.
// Threads: one takes; the one that made this, destroys it.
template <typename Item>
class OrderedProducers {
 public:
  // Makes one item. `stop` is asked for when nobody wants it any more.
  using Job = std::function<Item(const std::stop_token& stop)>;
  // What is to be done for an index: called in the order of the indices, never twice at a time.
  using Plan = std::function<Job(std::int64_t index)>;
  // What each thread does first; the constructor waits for it. Must not throw.
  using Enter = std::function<void(std::int64_t thread)>;

  // `first` is the index that is taken first.
  OrderedProducers(std::int64_t threads, std::int64_t capacity, std::int64_t first, Plan plan,
                   Enter enter)
      : plan_(std::move(plan)),
        enter_(std::move(enter)),
        slots_(static_cast<std::size_t>(capacity)),
        planned_(first),
        taken_(first),
        entered_(threads) {
    for (std::int64_t thread = 0; thread < threads; ++thread) {
      threads_.emplace_back([this, thread](const std::stop_token& stop) { serve(stop, thread); });
    }
    entered_.wait();
  }

  // Ends as soon as the jobs under way do.
  ~OrderedProducers() {
    for (std::jthread& thread : threads_) {
      thread.request_stop();
    }
  }
  OrderedProducers(const OrderedProducers&) = delete;
  OrderedProducers& operator=(const OrderedProducers&) = delete;

  // The index of the item that comes next.
  std::int64_t next() const { return taken_; }

  // Waits for it.
  // Throws: what its plan or job threw, each time from then on.
  Item take() {
    std::unique_lock lock(mutex_);
    Slot& slot = slot_of(taken_);
    made_.wait(lock, [&slot] { return slot.item || slot.error; });
    if (slot.error) {
      std::rethrow_exception(slot.error);
    }
    Item item = std::move(*slot.item);
    slot.item.reset();
    ++taken_;
    lock.unlock();
    room_.notify_one();
    return item;
  }

 private:
  struct Slot {
    std::optional<Item> item;
    std::exception_ptr error;
  };

  Slot& slot_of(std::int64_t index) {
    return slots_[static_cast<std::size_t>(index) % slots_.size()];
  }

  bool has_room() const { return planned_ - taken_ < static_cast<std::int64_t>(slots_.size()); }

  void serve(const std::stop_token& stop, std::int64_t thread) {
    enter_(thread);
    entered_.count_down();
    std::unique_lock lock(mutex_);
    while (room_.wait(lock, stop, [this] { return has_room(); }) && !stop.stop_requested()) {
      const std::int64_t index = planned_++;
      Slot slot;
      try {
        const Job job = plan_(index);
        lock.unlock();
        slot.item = job(stop);
      } catch (...) {
        slot.error = std::current_exception();
      }
      if (!lock.owns_lock()) {
        lock.lock();
      }
      slot_of(index) = std::move(slot);
      made_.notify_one();
    }
  }

  Plan plan_;
  Enter enter_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::condition_variable_any room_;
  std::vector<Slot> slots_;
  std::int64_t planned_;  // the index that nobody makes yet
  std::int64_t taken_;    // the index that is taken next; the taker's alone to change
  std::latch entered_;
  std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace ddpprof

#include "trainers/common/ordered_producers.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

using Producers = OrderedProducers<std::int64_t>;

void enter_quietly(std::int64_t /*thread*/) {}

// The square of each index, after a time that says nothing of the order.
Producers::Job square(std::int64_t index) {
  return [index](const std::stop_token&) {
    std::minstd_rand random(static_cast<unsigned>(index) + 1);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    return index * index;
  };
}

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, GiveItemsInOrder) {
  Producers producers(GetParam(), 2 * GetParam(), 5, square, enter_quietly);
  for (std::int64_t index = 5; index < 500; ++index) {
    EXPECT_EQ(producers.next(), index);
    EXPECT_EQ(producers.take(), index * index);
  }
}

TEST_P(Threads, ArePlannedInOrderByOneAtATime) {
  std::int64_t planned = 0;  // no lock: the thread sanitizer watches
  Producers producers(
      GetParam(), 3 * GetParam(), 0,
      [&](std::int64_t index) {
        EXPECT_EQ(index, planned++);
        return square(index);
      },
      enter_quietly);
  for (int i = 0; i < 200; ++i) producers.take();
}

TEST_P(Threads, NeverHaveMoreThanTheCapacity) {
  const std::int64_t capacity = GetParam() + 1;
  std::atomic<std::int64_t> taken = 0;
  std::atomic<std::int64_t> most = 0;
  Producers producers(
      GetParam(), capacity, 0,
      [&](std::int64_t index) {
        most = std::max(most.load(), index + 1 - taken.load());
        return square(index);
      },
      enter_quietly);
  for (int i = 0; i < 200; ++i) {
    ++taken;  // before it is: the room is there only afterwards
    producers.take();
  }
  EXPECT_LE(most, capacity);
}

TEST_P(Threads, ThrowInTheirTurnWhatAJobThrew) {
  Producers producers(
      GetParam(), 2 * GetParam(), 0,
      [](std::int64_t index) -> Producers::Job {
        if (index < 20) return square(index);
        return [index](const std::stop_token&) -> std::int64_t {
          throw std::runtime_error("item " + std::to_string(index));
        };
      },
      enter_quietly);
  for (std::int64_t index = 0; index < 20; ++index) EXPECT_EQ(producers.take(), index * index);
  for (int again = 0; again < 2; ++again) {
    try {
      producers.take();
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "item 20") << "whichever of them failed first";
    }
  }
}

TEST_P(Threads, ThrowWhatThePlanThrew) {
  Producers producers(
      GetParam(), GetParam(), 0,
      [](std::int64_t index) {
        if (index == 3) throw std::runtime_error("plan 3");
        return square(index);
      },
      enter_quietly);
  for (int i = 0; i < 3; ++i) producers.take();
  EXPECT_THROW(producers.take(), std::runtime_error);
}

TEST_P(Threads, EndWhileTheyWaitForRoom) {
  std::atomic<std::int64_t> made = 0;
  const std::int64_t capacity = 2 * GetParam();
  Producers producers(
      GetParam(), capacity, 0,
      [&](std::int64_t index) {
        return [&made, index](const std::stop_token&) {
          ++made;
          return index;
        };
      },
      enter_quietly);
  while (made < capacity) std::this_thread::yield();
}

TEST_P(Threads, EndWhileTheyWork) {
  std::atomic<std::int64_t> begun = 0;
  Producers producers(
      GetParam(), GetParam(), 0,
      [&](std::int64_t index) {
        return [&begun, index](const std::stop_token& stop) {
          ++begun;
          while (!stop.stop_requested()) std::this_thread::yield();
          return index;
        };
      },
      enter_quietly);
  while (begun < GetParam()) std::this_thread::yield();
}

TEST_P(Threads, EndAtAnyMoment) {
  for (int items = 0; items < 200; ++items) {
    Producers producers(GetParam(), GetParam(), 0, square, enter_quietly);
    for (int i = 0; i < items % 7; ++i) producers.take();
  }
}

TEST_P(Threads, AllEnterBeforeTheyAreUsed) {
  std::atomic<std::int64_t> entered = 0;
  const Producers producers(GetParam(), GetParam(), 0, square,
                            [&](std::int64_t /*thread*/) { ++entered; });
  EXPECT_EQ(entered, GetParam());
}

INSTANTIATE_TEST_SUITE_P(OrderedProducers, Threads, testing::Values(1, 3, 8));

TEST(OrderedProducers, ReleaseWhatNobodyTook) {
  const auto item = std::make_shared<int>(1);
  {
    OrderedProducers<std::shared_ptr<int>> producers(
        2, 4, 0,
        [&](std::int64_t /*index*/) { return [item](const std::stop_token&) { return item; }; },
        enter_quietly);
    EXPECT_EQ(producers.take(), item);
  }
  EXPECT_EQ(item.use_count(), 1);
}

}  // namespace
}  // namespace ddpprof::test

#include "profiler/record/activity_buffers.h"

#include "profiler/record/recorder.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using Bytes = std::span<const std::byte>;

bool is_zero(const std::byte* buffer) {
  return std::all_of(buffer, buffer + ActivityBuffers::kBytes,
                     [](std::byte one) { return one == std::byte{0}; });
}

TEST(ActivityBuffers, HandsWhatWasWrittenToTheConsumerAndComesBackZeroed) {
  std::vector<std::size_t> sizes;
  std::vector<int> first_bytes;
  ActivityBuffers buffers([&](Bytes bytes, BufferKind) {
    sizes.push_back(bytes.size());
    first_bytes.push_back(std::to_integer<int>(bytes[0]));
  });
  buffers.reserve();
  std::set<std::byte*> seen;
  for (int i = 1; i <= 100; ++i) {
    std::byte* const buffer = buffers.take();
    ASSERT_NE(buffer, nullptr);
    ASSERT_TRUE(is_zero(buffer));
    seen.insert(buffer);
    const std::size_t size = 1000 + static_cast<std::size_t>(i);
    std::memset(buffer, i, size);
    buffers.give(buffer, size);
    buffers.wait_until_consumed();
    ASSERT_EQ(sizes.size(), static_cast<std::size_t>(i));
    EXPECT_EQ(sizes.back(), size);
    EXPECT_EQ(first_bytes.back(), i);
  }
  EXPECT_LE(seen.size(), ActivityBuffers::kSpareBuffers) << "they are used again";
}

TEST(ActivityBuffers, AreMadeBeforeTheyRunOut) {
  ActivityBuffers buffers([](Bytes, BufferKind) {});
  buffers.reserve();
  std::vector<std::byte*> taken;
  // More than there were: the thread makes others meanwhile.
  for (std::size_t i = 0; i < 3 * ActivityBuffers::kSpareBuffers; ++i) {
    std::byte* buffer = buffers.take();
    for (int tries = 0; buffer == nullptr && tries < 2000; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      buffer = buffers.take();
    }
    ASSERT_NE(buffer, nullptr);
    taken.push_back(buffer);
  }
  EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), taken.size()) << "each is given once";
  for (std::byte* buffer : taken) buffers.give(buffer, 0);
}

TEST(ActivityBuffers, KeepThePeriodsInWhichThereWereNone) {
  ActivityBuffers buffers([](Bytes, BufferKind) {}, /*most_buffers=*/2);
  buffers.reserve();
  Losses losses;
  buffers.move_periods(losses);
  EXPECT_TRUE(losses.periods.empty());
  std::byte* const first = buffers.take();
  std::byte* const second = buffers.take();
  ASSERT_NE(second, nullptr);
  const std::int64_t before_ns = now_ns();
  EXPECT_EQ(buffers.take(), nullptr);
  EXPECT_EQ(buffers.take(), nullptr) << "the same period";
  buffers.give(first, 8);
  buffers.wait_until_consumed();
  EXPECT_EQ(buffers.take(), first);
  const std::int64_t after_ns = now_ns();
  EXPECT_EQ(buffers.take(), nullptr) << "a period that has not ended";
  buffers.move_periods(losses);
  ASSERT_EQ(losses.periods.size(), 2u);
  std::ranges::sort(losses.periods);
  EXPECT_GE(losses.periods[0].begin_ns, before_ns);
  EXPECT_LE(losses.periods[0].end_ns, after_ns);
  EXPECT_GE(losses.periods[1].begin_ns, losses.periods[0].end_ns);
  EXPECT_FALSE(losses.has_more_periods);
}

TEST(ActivityBuffers, SayWhenThereWereMorePeriodsThanTheyKeep) {
  ActivityBuffers buffers([](Bytes, BufferKind) {}, /*most_buffers=*/1);
  buffers.reserve();
  for (std::size_t i = 0; i <= ActivityBuffers::kMostPeriods; ++i) {
    std::byte* const buffer = buffers.take();
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(buffers.take(), nullptr);
    buffers.give(buffer, 0);
    buffers.wait_until_consumed();
  }
  buffers.give(buffers.take(), 0);
  Losses losses;
  buffers.move_periods(losses);
  EXPECT_EQ(losses.periods.size(), ActivityBuffers::kMostPeriods);
  EXPECT_TRUE(losses.has_more_periods);
}

TEST(ActivityBuffers, RefuseWhatIsNotTheirs) {
  int count = 0;
  ActivityBuffers buffers([&](Bytes, BufferKind) { ++count; });
  buffers.reserve();
  std::byte foreign{};
  buffers.give(&foreign, 1);
  buffers.give(nullptr, 1);
  std::byte* const own = buffers.take();
  buffers.give(own, 1);
  buffers.wait_until_consumed();
  buffers.give(own, 1);
  buffers.wait_until_consumed();
  EXPECT_EQ(count, 1) << "a buffer is given once a taking";
}

// Under the thread sanitizer, too.
TEST(ActivityBuffers, ServeManyThreads) {
  constexpr int kThreads = 6, kRounds = 200;
  std::atomic<std::int64_t> sum = 0;
  ActivityBuffers buffers(
      [&](Bytes bytes, BufferKind) { sum += static_cast<std::int64_t>(bytes.size()); });
  buffers.reserve();
  std::atomic<std::int64_t> expected = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kRounds; ++i) {
        std::byte* const buffer = buffers.take();
        if (buffer == nullptr) continue;
        const auto size = static_cast<std::size_t>(thread * kRounds + i);
        std::memset(buffer, 1, size);
        expected += static_cast<std::int64_t>(size);
        buffers.give(buffer, size);
      }
    });
  }
  threads.clear();
  buffers.wait_until_consumed();
  EXPECT_EQ(sum, expected);
  EXPECT_GT(expected, 0);
}

}  // namespace
}  // namespace ddpprof

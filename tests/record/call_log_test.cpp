#include "profiler/record/call_log.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

CallEntry call_of(std::uint32_t thread, std::int64_t number) {
  return {.begin_ns = number,
          .end_ns = number + 1,
          .thread = thread,
          .correlation = static_cast<std::uint32_t>(number),
          .id = 7,
          .is_driver = 0};
}

// Keeps what comes out of the buffers.
struct Collected {
  std::mutex mutex;
  std::vector<CallEntry> calls;
  ActivityBuffers buffers{[this](std::span<const std::byte> bytes, BufferKind kind) {
    EXPECT_EQ(kind, BufferKind::calls);
    EXPECT_EQ(bytes.size() % sizeof(CallEntry), 0u);
    const std::lock_guard lock(mutex);
    const std::size_t before = calls.size();
    calls.resize(before + bytes.size() / sizeof(CallEntry));
    std::memcpy(calls.data() + before, bytes.data(), bytes.size());
  }};

  Collected() { buffers.reserve(); }
  std::vector<CallEntry> take() {
    CallLog::instance().stop();
    buffers.wait_until_consumed();
    const std::lock_guard lock(mutex);
    return std::exchange(calls, {});
  }
};

TEST(CallLog, KeepsCallsWhileOnInTheirOrder) {
  Collected collected;
  CallLog& log = CallLog::instance();
  log.add(call_of(1, 1));
  log.start(collected.buffers);
  for (std::int64_t i = 0; i < 100; ++i) log.add(call_of(1, i));
  const auto calls = collected.take();
  log.add(call_of(1, 2));
  ASSERT_EQ(calls.size(), 100u) << "none from before, none from after";
  EXPECT_TRUE(std::ranges::is_sorted(calls, {}, &CallEntry::begin_ns));
  EXPECT_EQ(calls[5].end_ns, 6);
  EXPECT_TRUE(collected.take().empty());
  EXPECT_EQ(log.take_dropped_count(), 0);
}

TEST(CallLog, GoesOnInAnotherBuffer) {
  Collected collected;
  CallLog::instance().start(collected.buffers);
  constexpr auto kCalls =
      static_cast<std::int64_t>(3 * ActivityBuffers::kBytes / sizeof(CallEntry) + 5);
  for (std::int64_t i = 0; i < kCalls; ++i) CallLog::instance().add(call_of(1, i));
  const auto calls = collected.take();
  EXPECT_EQ(calls.size() + static_cast<std::size_t>(CallLog::instance().take_dropped_count()),
            static_cast<std::size_t>(kCalls));
  EXPECT_EQ(calls.size(), static_cast<std::size_t>(kCalls));
}

TEST(CallLog, HasTheCallsOfThreadsThatEnded) {
  Collected collected;
  CallLog::instance().start(collected.buffers);
  for (std::uint32_t thread = 0; thread < 50; ++thread) {
    std::jthread([&] { CallLog::instance().add(call_of(thread, thread)); }).join();
  }
  EXPECT_EQ(collected.take().size(), 50u);
}

TEST(CallLog, CountsWhatHasNoRoom) {
  ActivityBuffers none([](std::span<const std::byte>, BufferKind) {}, /*most_buffers=*/0);
  CallLog::instance().start(none);
  CallLog::instance().add(call_of(1, 1));
  CallLog::instance().stop();
  EXPECT_EQ(CallLog::instance().take_dropped_count(), 1);
  EXPECT_EQ(CallLog::instance().take_dropped_count(), 0);
}

// Under the thread sanitizer, too: switched on and off while threads are at it.
TEST(CallLog, MayBeSwitchedWhileThreadsMakeCalls) {
  Collected collected;
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::int64_t i = 0; !is_over; ++i) CallLog::instance().add(call_of(thread, i));
    });
  }
  std::size_t count = 0;
  for (int i = 0; i < 200; ++i) {
    CallLog::instance().start(collected.buffers);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    const auto calls = collected.take();
    count += calls.size();
    for (const CallEntry& call : calls) {
      ASSERT_EQ(call.end_ns, call.begin_ns + 1) << "half of a call";
    }
  }
  is_over = true;
  EXPECT_GT(count, 0u);
}

}  // namespace
}  // namespace ddpprof

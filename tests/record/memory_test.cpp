// What the recorder does with memory. A program of its own: it replaces operator new.
#include "profiler/record/recorder.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace {

std::atomic<bool> memory_is_out = false;
thread_local std::int64_t allocations_count = 0;

}  // namespace

// Not inlined: g++ would take malloc and delete, or new and free, for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations_count;
  return memory_is_out ? nullptr : std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ddpprof {
namespace {

void record_one_step(Recorder& recorder, std::int64_t index) {
  recorder.begin_step(index);
  for (int i = 0; i < 20; ++i) {
    const PhaseScope outer(recorder, Phase::backward, "outer", {.computes = true});
    const CollectiveHandle handle =
        recorder.begin_collective({.communicator = "a communicator with a long name"});
    {
      const PhaseScope inner(recorder, Phase::bucket_copy, "inner");
    }
    recorder.end_compute();
    recorder.end_collective(handle);
    recorder.count(Counter::all_reduce);
  }
  recorder.end_step();
}

TEST(RecorderMemory, AStepAllocatesNothing) {
  Recorder recorder({.cpu_time = true, .service_threads = 2}, nullptr);
  const ThreadScope thread(recorder, "the main thread with a long name", true);
  recorder.start(0);
  record_one_step(recorder, 0);  // the communicator's name is new
  allocations_count = 0;
  for (int i = 1; i < 10; ++i) record_one_step(recorder, i);
  EXPECT_EQ(allocations_count, 0);
  recorder.stop();
  EXPECT_EQ(recorder.take({}).scopes.size(), 600u);
}

TEST(RecorderMemory, WhileOffNothingIsAllocated) {
  Recorder recorder({}, nullptr);
  allocations_count = 0;
  {
    const ThreadScope thread(recorder, "the main thread with a long name", true);
    record_one_step(recorder, 0);
  }
  EXPECT_EQ(allocations_count, 0);
}

TEST(RecorderMemory, FreshThreadsUseTheLogsOfThoseBefore) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  std::int64_t first_count = 0;
  std::int64_t last_count = 0;
  for (int i = 0; i < 500; ++i) {
    std::jthread([&] {
      const ThreadScope thread(recorder, "replica 1", false, 1);
      {
        const PhaseScope scope(recorder, Phase::forward, "forward");
      }
      last_count = allocations_count;
    }).join();
    if (i == 0) first_count = last_count;
  }
  EXPECT_EQ(last_count, first_count) << "thread 500 costs no more than thread 1";
  EXPECT_EQ(last_count, 0);
  recorder.stop();
  EXPECT_EQ(recorder.take({}).threads.size(), 500u);
}

TEST(RecorderMemory, WithoutMemoryRecordsAreDroppedAndCounted) {
  Recorder recorder({}, nullptr);
  const ThreadScope thread(recorder, "main", true);
  recorder.start(0);
  constexpr int kScopes = 50'000;
  memory_is_out = true;
  for (int i = 0; i < kScopes; ++i) {
    const PhaseScope scope(recorder, Phase::other, "scope");
  }
  for (int i = 0; i < kScopes; ++i) {
    recorder.end_collective(recorder.begin_collective({.communicator = "g"}));
  }
  memory_is_out = false;
  {
    const PhaseScope scope(recorder, Phase::data, "after");
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_GT(trace.scopes.size(), 1000u) << "what was made ahead of time is used";
  EXPECT_LT(trace.scopes.size(), static_cast<std::size_t>(kScopes));
  EXPECT_GT(trace.collectives.size(), 1000u);
  EXPECT_LT(trace.collectives.size(), static_cast<std::size_t>(kScopes));
  EXPECT_EQ(trace.names.at(1), "after") << "it goes on when there is memory again";
  EXPECT_EQ(trace.info.dropped_records, 2 * kScopes + 1 -
                                            static_cast<std::int64_t>(trace.scopes.size()) -
                                            static_cast<std::int64_t>(trace.collectives.size()));
}

}  // namespace
}  // namespace ddpprof

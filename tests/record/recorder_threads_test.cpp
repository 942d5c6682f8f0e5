#include "profiler/record/recorder.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// Scopes of each thread nest: checked as brackets.
void expect_nested(const Trace& trace) {
  std::map<ThreadId, std::vector<Span>> open;
  for (const Scope& scope : trace.scopes) {
    std::vector<Span>& stack = open[scope.thread];
    while (!stack.empty() && stack.back().end_ns <= scope.span.begin_ns) stack.pop_back();
    if (!stack.empty()) {
      EXPECT_LE(scope.span.end_ns, stack.back().end_ns);
    }
    stack.push_back(scope.span);
  }
}

TEST(RecorderThreads, ManyThreadsRecordAtTheSameTime) {
  constexpr int kThreads = 8;
  constexpr int kScopes = 3000;
  Recorder recorder({}, nullptr);
  recorder.start(0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&recorder, t] {
        const ThreadScope thread(recorder, "replica " + std::to_string(t), false, t);
        for (int i = 0; i < kScopes; ++i) {
          const PhaseScope outer(recorder, Phase::forward, "outer", {.computes = true});
          const PhaseScope inner(recorder, Phase::loss, "inner");
          recorder.count(Counter::forward);
        }
      });
    }
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_EQ(trace.scopes.size(), static_cast<std::size_t>(2 * kThreads * kScopes));
  EXPECT_EQ(trace.info.counts.at("forward"), kThreads * kScopes);
  EXPECT_EQ(trace.info.dropped_records, 0);
  ASSERT_EQ(trace.threads.size(), static_cast<std::size_t>(kThreads));
  for (const Scope& scope : trace.scopes) {
    const Thread& thread = trace.threads[scope.thread.index];
    EXPECT_EQ(scope.replica, thread.replica);
    EXPECT_EQ(thread.name, "replica " + std::to_string(*thread.replica));
    EXPECT_LE(thread.life.begin_ns, scope.span.begin_ns);
    EXPECT_GE(thread.life.end_ns, scope.span.end_ns);
  }
  expect_nested(trace);
}

TEST(RecorderThreads, EachFreshThreadIsAThreadOfItsOwn) {
  constexpr int kThreads = 1500;
  Recorder recorder({}, nullptr);
  const ThreadScope main_thread(recorder, "main", true);
  recorder.start(0);
  for (int i = 0; i < kThreads; ++i) {
    std::jthread([&recorder, i] {
      const ThreadScope thread(recorder, "replica", false, i % 2);
      const PhaseScope scope(recorder, Phase::forward, "forward");
    });
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_EQ(trace.scopes.size(), static_cast<std::size_t>(kThreads));
  ASSERT_EQ(trace.threads.size(), static_cast<std::size_t>(kThreads) + 1);
  EXPECT_TRUE(trace.threads[0].is_main);
  // System ids come again; lives of one id do not overlap.
  std::map<std::int64_t, std::int64_t> last_end_ns;
  for (std::size_t i = 1; i < trace.threads.size(); ++i) {
    const Thread& thread = trace.threads[i];
    EXPECT_GE(thread.life.begin_ns, last_end_ns[thread.system_id]);
    EXPECT_LT(thread.life.begin_ns, thread.life.end_ns);
    last_end_ns[thread.system_id] = thread.life.end_ns;
  }
}

TEST(RecorderThreads, AnUnknownThreadIsKnownByItsNumber) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  std::jthread([&recorder] { const PhaseScope scope(recorder, Phase::backward, "hook"); }).join();
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].name, "thread " + std::to_string(trace.threads[0].system_id));
  EXPECT_FALSE(trace.threads[0].is_main);
  EXPECT_FALSE(trace.threads[0].replica.has_value());
}

TEST(RecorderThreads, AThreadMayIntroduceItselfAfterItsFirstScope) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  std::jthread([&recorder] {
    const PhaseScope before(recorder, Phase::data, "before");
    const ThreadScope thread(recorder, "loader", false, 1);
    const PhaseScope after(recorder, Phase::data, "after");
  }).join();
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].name, "loader");
  EXPECT_EQ(trace.scopes.size(), 1u) << "the outer scope was open when the thread left";
}

TEST(RecorderThreads, ScopesGoToTheirOwnReplicaBeforeTheThreads) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  std::jthread([&recorder] {
    const ThreadScope thread(recorder, "worker", false, 1);
    const PhaseScope own(recorder, Phase::replicate, "own", {.replica = 3});
    const PhaseScope inherited(recorder, Phase::replicate, "inherited");
  }).join();
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.scopes.size(), 2u);
  EXPECT_EQ(trace.scopes[0].replica, 3);
  EXPECT_EQ(trace.scopes[1].replica, 1);
}

TEST(RecorderThreads, AnotherThreadEndsTheCollective) {
  constexpr int kCollectives = 4000;
  Recorder recorder({.service_threads = 2}, nullptr);
  recorder.start(0);
  std::vector<std::atomic<std::uint32_t>> handed_over(kCollectives);
  {
    std::jthread beginner([&] {
      for (std::size_t i = 0; i < kCollectives; ++i) {
        const CollectiveHandle handle = recorder.begin_collective(
            {.communicator = i % 2 == 0 ? "even" : "odd", .sequence = static_cast<int>(i)});
        handed_over[i].store(handle.index + 1, std::memory_order_relaxed);
      }
    });
    for (std::size_t t = 0; t < 2; ++t) {
      // Not threads the recorder knows: gloo's own.
      std::jthread([&, t] {
        for (std::size_t i = t; i < kCollectives; i += 2) {
          while (handed_over[i].load(std::memory_order_relaxed) == 0) std::this_thread::yield();
          recorder.end_collective({handed_over[i].load(std::memory_order_relaxed) - 1});
        }
      }).join();
    }
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.collectives.size(), static_cast<std::size_t>(kCollectives));
  EXPECT_EQ(trace.info.dropped_records, 0);
  EXPECT_TRUE(trace.threads.empty()) << "ending a collective registers nobody";
  for (const Collective& collective : trace.collectives) {
    EXPECT_LE(*collective.ready_ns, collective.span.begin_ns);
    EXPECT_LE(collective.span.begin_ns, collective.span.end_ns);
    const bool is_even = collective.sequence % 2 == 0;
    EXPECT_EQ(trace.names[collective.communicator.index], is_even ? "even" : "odd");
  }
}

TEST(RecorderThreads, ManyThreadsBeginCollectivesAndEachIsKept) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&recorder, t] {
        for (int i = 0; i < 5000; ++i) {
          recorder.end_collective(recorder.begin_collective(
              {.communicator = "g", .sequence = t * 5000 + i, .bytes = i}));
        }
      });
    }
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.collectives.size(), 20'000u);
  std::vector<std::int64_t> sequences;
  for (const Collective& collective : trace.collectives) {
    sequences.push_back(collective.sequence);
    EXPECT_EQ(collective.bytes, collective.sequence % 5000);
  }
  std::ranges::sort(sequences);
  EXPECT_EQ(std::ranges::adjacent_find(sequences), sequences.end());
}

TEST(RecorderThreads, StartStopAndTakeMayHappenWhileOthersWrite) {
  Recorder recorder({}, nullptr);
  std::atomic<bool> is_done = false;
  std::vector<std::jthread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&recorder, &is_done, t] {
      const ThreadScope thread(recorder, "writer", false, t);
      while (!is_done) {
        const PhaseScope outer(recorder, Phase::forward, "outer");
        const CollectiveHandle handle = recorder.begin_collective({.communicator = "g"});
        {
          const PhaseScope inner(recorder, Phase::loss, "inner", {.computes = true});
        }
        recorder.end_compute();
        recorder.end_collective(handle);
        std::this_thread::yield();
      }
    });
  }
  std::size_t scopes_count = 0;
  for (int visit = 0; visit < 200 || scopes_count == 0; ++visit) {
    recorder.start(visit);
    recorder.begin_step(visit);
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    recorder.end_step();
    recorder.stop();
    const Trace trace = recorder.take({});
    scopes_count += trace.scopes.size();
    expect_nested(trace);
    for (const Scope& scope : trace.scopes) {
      ASSERT_LT(scope.thread.index, trace.threads.size());
      EXPECT_EQ(scope.phase == Phase::loss, trace.names[scope.name.index] == "inner");
    }
  }
  is_done = true;
  writers.clear();
  EXPECT_GT(scopes_count, 0u);
}

TEST(RecorderThreads, AThreadMayEndAfterItsRecorder) {
  std::atomic<int> stage = 0;
  std::jthread worker;
  {
    Recorder recorder({}, nullptr);
    recorder.start(0);
    worker = std::jthread([&] {
      {
        const PhaseScope scope(recorder, Phase::data, "data");
      }
      stage = 1;
      while (stage != 2) std::this_thread::yield();
    });
    while (stage != 1) std::this_thread::yield();
    recorder.stop();
    EXPECT_EQ(recorder.take({}).scopes.size(), 1u);
  }
  stage = 2;
  worker.join();
}

TEST(RecorderThreads, AThreadMayMoveToAnotherRecorder) {
  Recorder first({}, nullptr);
  Recorder second({}, nullptr);
  first.start(0);
  second.start(0);
  {
    const PhaseScope scope(first, Phase::data, "first");
  }
  {
    const PhaseScope scope(second, Phase::data, "second");
  }
  {
    const PhaseScope scope(first, Phase::data, "first again");
  }
  first.stop();
  second.stop();
  EXPECT_EQ(first.take({}).names, (std::vector<std::string>{"first", "first again"}));
  EXPECT_EQ(second.take({}).names, std::vector<std::string>{"second"});
}

}  // namespace
}  // namespace ddpprof

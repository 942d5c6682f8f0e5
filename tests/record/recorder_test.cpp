#include "profiler/record/recorder.h"

#include "profiler/record/clocks.h"

#include <algorithm>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

std::vector<Scope> scopes_named(const Trace& trace, std::string_view name) {
  std::vector<Scope> found;
  std::ranges::copy_if(trace.scopes, std::back_inserter(found),
                       [&](const Scope& scope) { return trace.names[scope.name.index] == name; });
  return found;
}

Scope only_scope(const Trace& trace, std::string_view name) {
  const std::vector<Scope> found = scopes_named(trace, name);
  EXPECT_EQ(found.size(), 1u) << name;
  return found.empty() ? Scope{} : found.front();
}

bool is_inside(Span inner, Span outer) {
  return outer.begin_ns <= inner.begin_ns && inner.end_ns <= outer.end_ns;
}

void spin_until_later() {
  const std::int64_t start_ns = now_ns();
  while (now_ns() < start_ns + 1000) continue;
}

TEST(Recorder, RecordsNestedScopesOfAStep) {
  Recorder recorder({}, nullptr);
  const ThreadScope thread(recorder, "main", true);
  recorder.start(3);
  recorder.begin_step(7);
  {
    const PhaseScope forward(recorder, Phase::forward, "forward", {.computes = true});
    const PhaseScope loss(recorder, Phase::loss, "loss");
  }
  recorder.end_step();
  recorder.stop();
  TraceInfo info;
  info.strategy = "single";
  const Trace trace = recorder.take(info);

  ASSERT_EQ(trace.steps.size(), 1u);
  EXPECT_EQ(trace.steps[0].index, 7);
  EXPECT_EQ(trace.steps[0].visit, 3);
  ASSERT_EQ(trace.scopes.size(), 2u);
  EXPECT_EQ(trace.names, (std::vector<std::string>{"forward", "loss"}));
  const Scope& forward = trace.scopes[0];
  EXPECT_EQ(forward.phase, Phase::forward);
  EXPECT_TRUE(forward.computes);
  EXPECT_FALSE(trace.scopes[1].computes);
  EXPECT_TRUE(is_inside(trace.scopes[1].span, forward.span));
  EXPECT_TRUE(is_inside(forward.span, trace.steps[0].span));
  ASSERT_EQ(trace.threads.size(), 1u);
  EXPECT_EQ(trace.threads[0].name, "main");
  EXPECT_TRUE(trace.threads[0].is_main);
  EXPECT_TRUE(is_inside(trace.steps[0].span, trace.threads[0].life));
  EXPECT_EQ(trace.info.strategy, "single");
  EXPECT_EQ(trace.info.dropped_records, 0);
}

TEST(Recorder, RecordsNothingWhileOff) {
  Recorder recorder({}, nullptr);
  recorder.begin_step(0);
  {
    const ThreadScope thread(recorder, "main", true);
    const PhaseScope scope(recorder, Phase::forward, "forward");
    recorder.count(Counter::forward);
    recorder.end_compute();
    recorder.end_collective(recorder.begin_collective({}));
  }
  recorder.end_step();
  const Trace trace = recorder.take({});
  EXPECT_TRUE(trace.steps.empty());
  EXPECT_TRUE(trace.scopes.empty());
  EXPECT_TRUE(trace.threads.empty());
  EXPECT_TRUE(trace.collectives.empty());
  for (const auto& [name, count] : trace.info.counts) EXPECT_EQ(count, 0) << name;
  EXPECT_EQ(trace.info.dropped_records, 0);
}

TEST(Recorder, TakeEmptiesIt) {
  Recorder recorder({}, nullptr);
  for (int visit = 0; visit < 3; ++visit) {
    recorder.start(visit);
    recorder.begin_step(visit);
    {
      const PhaseScope scope(recorder, Phase::data, visit == 1 ? "odd" : "even");
    }
    recorder.count(Counter::optimizer);
    recorder.end_step();
    recorder.stop();
    const Trace trace = recorder.take({});
    ASSERT_EQ(trace.steps.size(), 1u);
    EXPECT_EQ(trace.steps[0].visit, visit);
    EXPECT_EQ(trace.scopes.size(), 1u);
    EXPECT_EQ(trace.names, std::vector<std::string>{visit == 1 ? "odd" : "even"});
    EXPECT_EQ(trace.info.counts.at("optimizer"), 1);
  }
}

TEST(Recorder, StepsOfAVisitLeaveNoGapAndVisitsDo) {
  Recorder recorder({}, nullptr);
  for (int visit = 0; visit < 2; ++visit) {
    recorder.start(visit);
    for (int i = 0; i < 3; ++i) {
      recorder.begin_step(visit * 3 + i);
      recorder.end_step();
      spin_until_later();
    }
    recorder.stop();
  }
  const std::vector<Step> steps = recorder.take({}).steps;
  ASSERT_EQ(steps.size(), 6u);
  for (const std::size_t i : {1u, 2u, 4u, 5u}) {
    EXPECT_EQ(steps[i].span.begin_ns, steps[i - 1].span.end_ns);
  }
  EXPECT_GT(steps[3].span.begin_ns, steps[2].span.end_ns);
}

TEST(Recorder, AScopeBegunBeforeTheRecordingIsNotRecorded) {
  Recorder recorder({}, nullptr);
  {
    const PhaseScope outer(recorder, Phase::other, "outer");
    recorder.start(0);
    {
      const PhaseScope inner(recorder, Phase::data, "inner");
    }
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_EQ(trace.names, std::vector<std::string>{"inner"});
  EXPECT_EQ(trace.info.dropped_records, 0);
}

TEST(Recorder, AScopeStillOpenWhenRecordingStopsIsNotRecorded) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  {
    const PhaseScope outer(recorder, Phase::other, "outer");
    {
      const PhaseScope inner(recorder, Phase::data, "inner");
    }
    recorder.stop();
  }
  const Trace trace = recorder.take({});
  EXPECT_EQ(trace.names, std::vector<std::string>{"inner"});
  EXPECT_EQ(trace.info.dropped_records, 0) << "it was begun outside of steps";
}

TEST(Recorder, AScopeOfAStepThatIsStillOpenAtTheStopIsCountedAsDropped) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  recorder.begin_step(0);
  {
    const PhaseScope outer(recorder, Phase::other, "outer");
    recorder.end_step();
    recorder.stop();
  }
  const Trace trace = recorder.take({});
  EXPECT_TRUE(trace.scopes.empty());
  EXPECT_EQ(trace.info.dropped_records, 1);
}

TEST(Recorder, ScopesLeftOpenInOneRecordingDoNotDisturbTheNext) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  recorder.begin_scope(Phase::other, "left open", {});
  recorder.stop();
  recorder.start(1);
  recorder.begin_scope(Phase::data, "whole", {});
  recorder.end_scope();
  recorder.end_scope();  // of "left open": there is nothing to end any more
  recorder.stop();
  EXPECT_EQ(recorder.take({}).names, std::vector<std::string>{"whole"});
}

TEST(Recorder, AStepThatIsStillOpenAtTheStopIsCountedAsDropped) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  recorder.begin_step(0);
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_TRUE(trace.steps.empty());
  EXPECT_EQ(trace.info.dropped_records, 1);
}

TEST(Recorder, EndComputeSplitsOffTheComputingPart) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  std::int64_t between_ns = 0;
  {
    const PhaseScope scope(recorder, Phase::backward, "backward", {.computes = true, .replica = 1});
    spin_until_later();
    recorder.end_compute();
    between_ns = now_ns();
    recorder.end_compute();  // the first one counts
    spin_until_later();
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.scopes.size(), 2u);
  const Scope& whole = trace.scopes[0];
  const Scope& computing = trace.scopes[1];
  EXPECT_FALSE(whole.computes);
  EXPECT_TRUE(computing.computes);
  EXPECT_EQ(whole.span.begin_ns, computing.span.begin_ns);
  EXPECT_LE(computing.span.end_ns, between_ns);
  EXPECT_GT(whole.span.end_ns, between_ns);
  for (const Scope& scope : trace.scopes) {
    EXPECT_EQ(scope.phase, Phase::backward);
    EXPECT_EQ(trace.names[scope.name.index], "backward");
    EXPECT_EQ(scope.replica, 1);
  }
}

TEST(Recorder, EndComputeLeavesAScopeThatDoesNotComputeAlone) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  {
    const PhaseScope scope(recorder, Phase::all_reduce, "wait");
    recorder.end_compute();
  }
  recorder.stop();
  EXPECT_FALSE(only_scope(recorder.take({}), "wait").computes);
}

TEST(Recorder, CpuTimeIsAbsentUnlessAskedFor) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  {
    const PhaseScope scope(recorder, Phase::forward, "forward");
  }
  recorder.stop();
  EXPECT_FALSE(only_scope(recorder.take({}), "forward").cpu_ns.has_value());
}

TEST(Recorder, CpuTimeNeverExceedsTheWallClockAndIncludesNestedScopes) {
  Recorder recorder({.cpu_time = true}, nullptr);
  recorder.start(0);
  {
    const PhaseScope outer(recorder, Phase::backward, "outer", {.computes = true});
    {
      const PhaseScope inner(recorder, Phase::bucket_copy, "inner");
      const std::int64_t start_ns = thread_cpu_ns();
      while (thread_cpu_ns() < start_ns + 2'000'000) continue;
    }
    recorder.end_compute();
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.scopes.size(), 3u);
  for (const Scope& scope : trace.scopes) {
    ASSERT_TRUE(scope.cpu_ns.has_value());
    EXPECT_LE(*scope.cpu_ns, scope.span.length_ns());
    EXPECT_GE(*scope.cpu_ns, 2'000'000);
  }
  const std::vector<Scope> outer = scopes_named(trace, "outer");
  EXPECT_GE(*outer[0].cpu_ns, *outer[1].cpu_ns) << "the computing part is a part";
}

TEST(Recorder, CountsOnlyWhileOn) {
  Recorder recorder({}, nullptr);
  recorder.count(Counter::scatter, 100);
  recorder.start(0);
  recorder.count(Counter::scatter, 3);
  recorder.count(Counter::scatter);
  recorder.count(Counter::all_reduce);
  recorder.stop();
  recorder.count(Counter::scatter, 100);
  const std::map<std::string, std::int64_t> expected = {
      {"replicate", 0}, {"scatter", 4},    {"forward", 0},   {"gather", 0},
      {"backward", 0},  {"all_reduce", 1}, {"broadcast", 0}, {"optimizer", 0}};
  EXPECT_EQ(recorder.take({}).info.counts, expected);
}

TEST(Recorder, DeeperScopesThanItHoldsAreCountedAsDropped) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  for (int i = 0; i < 100; ++i) recorder.begin_scope(Phase::other, "nested", {});
  for (int i = 0; i < 100; ++i) recorder.end_scope();
  {
    const PhaseScope scope(recorder, Phase::data, "after");
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_EQ(scopes_named(trace, "nested").size(), 64u);
  EXPECT_EQ(scopes_named(trace, "after").size(), 1u);
  EXPECT_EQ(trace.info.dropped_records, 36);
}

TEST(Recorder, MoreScopesThanAChunkHoldsAreAllKeptInOrder) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  for (int i = 0; i < 5000; ++i) {
    const PhaseScope scope(recorder, Phase::other, "s");
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_EQ(trace.scopes.size(), 5000u);
  EXPECT_TRUE(std::ranges::is_sorted(trace.scopes, {}, &Scope::span));
}

TEST(Recorder, QueuedCollectivesStartWhenAServiceThreadIsFree) {
  Recorder recorder({.service_threads = 1}, nullptr);
  recorder.start(0);
  const CollectiveHandle first = recorder.begin_collective(
      {.communicator = "g", .sequence = 1, .bytes = 8, .gradient = true, .bucket = 0});
  const CollectiveHandle second = recorder.begin_collective({.communicator = "g", .sequence = 2});
  const CollectiveHandle other = recorder.begin_collective({.communicator = "h", .sequence = 1});
  recorder.end_collective(first);
  recorder.end_collective(second);
  recorder.end_collective(other);
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.collectives.size(), 3u);
  const auto find = [&](std::string_view communicator, std::int64_t sequence) {
    return *std::ranges::find_if(trace.collectives, [&](const Collective& collective) {
      return trace.names[collective.communicator.index] == communicator &&
             collective.sequence == sequence;
    });
  };
  EXPECT_EQ(find("g", 1).span.begin_ns, find("g", 1).ready_ns);
  EXPECT_EQ(find("g", 1).bucket, 0);
  EXPECT_TRUE(find("g", 1).gradient);
  EXPECT_EQ(find("g", 2).span.begin_ns, find("g", 1).span.end_ns);
  EXPECT_LT(find("g", 2).ready_ns, find("g", 2).span.begin_ns);
  EXPECT_EQ(find("h", 1).span.begin_ns, find("h", 1).ready_ns) << "communicators do not share";
}

TEST(Recorder, WithoutServiceThreadsACollectiveStartsWhenItIsReady) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  const CollectiveHandle first = recorder.begin_collective(
      {.kind = CollectiveKind::broadcast, .communicator = "g", .root = 0, .device = 1});
  const CollectiveHandle second = recorder.begin_collective({.communicator = "g", .sequence = 1});
  recorder.end_collective(first);
  recorder.end_collective(second);
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.collectives.size(), 2u);
  for (const Collective& collective : trace.collectives) {
    EXPECT_EQ(collective.span.begin_ns, collective.ready_ns);
  }
  EXPECT_EQ(trace.collectives[0].kind, CollectiveKind::broadcast);
  EXPECT_EQ(trace.collectives[0].root, 0);
  EXPECT_EQ(trace.collectives[0].device, 1);
}

TEST(Recorder, ACollectiveMayEndAfterTheRecording) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  const CollectiveHandle ends = recorder.begin_collective({.communicator = "g"});
  recorder.begin_collective({.communicator = "g", .sequence = 1});
  recorder.stop();
  recorder.end_collective(ends);
  recorder.end_collective(recorder.begin_collective({.communicator = "g", .sequence = 2}));
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.collectives.size(), 1u);
  EXPECT_EQ(trace.collectives[0].sequence, 0);
  EXPECT_EQ(trace.info.dropped_records, 1) << "the one that never ended";
}

TEST(Recorder, FillsInClocksBootIdAndHost) {
  const ClockPair before = read_clock_pair();
  Recorder recorder({}, nullptr);
  const TraceInfo info = recorder.take({}).info;
  EXPECT_LE(before.monotonic_ns, info.clock_begin.monotonic_ns);
  EXPECT_LT(info.clock_begin.monotonic_ns, info.clock_end.monotonic_ns);
  EXPECT_LE(info.clock_begin.real_ns, info.clock_end.real_ns);
  EXPECT_EQ(info.boot_id, boot_id());
  EXPECT_FALSE(info.boot_id.empty());
  EXPECT_EQ(info.host, host_name());
}

}  // namespace
}  // namespace ddpprof

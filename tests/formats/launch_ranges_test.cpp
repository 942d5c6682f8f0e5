#include "profiler/formats/launch_ranges.h"

#include "tests/formats/random_trace.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr ThreadId kMain = {0}, kAutograd = {1};

void add_scope(Trace& trace, ThreadId thread, Span span, std::uint32_t name) {
  Scope scope;
  scope.span = span;
  scope.thread = thread;
  scope.name = {name};
  trace.scopes.push_back(scope);
}

// Main goes forward and backward, and has an inner scope in backward; autograd launches.
Trace training() {
  Trace trace;
  trace.threads.resize(2);
  trace.threads[0].is_main = true;
  trace.names = {"forward", "backward", "inner", "call"};
  add_scope(trace, kMain, {0, 100}, 0);
  add_scope(trace, kMain, {100, 500}, 1);
  return trace;
}

void add_call(Trace& trace, ThreadId thread, Span span) {
  trace.calls.push_back({.span = span, .thread = thread, .name = {3}, .correlation = 1});
}

TEST(LaunchRanges, RunFromTheFirstToTheLastLaunchUnderAScopeOfMain) {
  Trace trace = training();
  add_call(trace, kAutograd, {300, 310});  // any order
  add_call(trace, kAutograd, {120, 130});
  add_call(trace, kAutograd, {50, 60});
  add_call(trace, kMain, {150, 160});
  EXPECT_EQ(find_launch_ranges(trace),
            (std::vector<LaunchRange>{{{50, 60}, kAutograd, 0}, {{120, 310}, kAutograd, 1}}));
}

TEST(LaunchRanges, LeaveOutWhatTheThreadsOwnScopesHold) {
  Trace trace = training();
  add_scope(trace, kAutograd, {200, 260}, 2);
  add_call(trace, kAutograd, {120, 130});
  add_call(trace, kAutograd, {210, 220});
  EXPECT_EQ(find_launch_ranges(trace), (std::vector<LaunchRange>{{{120, 130}, kAutograd, 1}}));
  add_call(trace, kAutograd, {270, 280});
  EXPECT_EQ(find_launch_ranges(trace), (std::vector<LaunchRange>{{{120, 280}, kAutograd, 1}}))
      << "the scope lies inside";
}

TEST(LaunchRanges, EndWhereMainEntersAnInnerScope) {
  Trace trace = training();
  add_scope(trace, kMain, {200, 300}, 2);
  for (const std::int64_t begin_ns : {150, 250, 350}) {
    add_call(trace, kAutograd, {begin_ns, begin_ns + 10});
  }
  EXPECT_EQ(find_launch_ranges(trace), (std::vector<LaunchRange>{{{150, 160}, kAutograd, 1},
                                                                 {{250, 260}, kAutograd, 2},
                                                                 {{350, 360}, kAutograd, 1}}));
}

TEST(LaunchRanges, ThereAreNoneOutsideOfScopesNorWithoutAMainThread) {
  Trace trace = training();
  add_call(trace, kAutograd, {500, 510});
  EXPECT_TRUE(find_launch_ranges(trace).empty());
  add_call(trace, kAutograd, {50, 60});
  trace.threads[0].is_main = false;
  EXPECT_TRUE(find_launch_ranges(trace).empty());
}

TEST(LaunchRanges, HoldOfAnyTraceOnlyCallsOfTheirThread) {
  test::Random random(20'261'201);
  for (int round = 0; round < 1000; ++round) {
    const Trace trace = test::random_trace(random);
    for (const LaunchRange& range : find_launch_ranges(trace)) {
      ASSERT_LT(range.scope, trace.scopes.size());
      ASSERT_TRUE(trace.threads[trace.scopes[range.scope].thread.index].is_main);
      ASSERT_NE(range.thread, trace.scopes[range.scope].thread);
      ASSERT_TRUE(std::ranges::any_of(trace.calls, [&](const Call& call) {
        return call.thread == range.thread && call.span.begin_ns == range.span.begin_ns;
      }));
    }
  }
}

}  // namespace
}  // namespace ddpprof

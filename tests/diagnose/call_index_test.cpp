#include "profiler/diagnose/call_index.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

Call launch(std::int64_t correlation, Span span, std::uint32_t thread = 0) {
  return {.span = span, .thread = {thread}, .name = {}, .correlation = correlation};
}

TEST(CallIndex, FindsCallsByCorrelationWhetherTheseAreDenseOrNot) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::vector<std::int64_t>> cases{
      {3, 1, 2}, {-2, 5, -1}, {kMost, 7}, {kLeast, kMost, 1}, {5'000'000'000, 1, 9'000}};
  for (const auto& correlations : cases) {
    std::vector<Call> calls;
    for (const std::int64_t correlation : correlations)
      calls.push_back(launch(correlation, {0, 1}));
    calls.push_back(launch(0, {0, 1}));
    const CallIndex index(calls);
    for (std::size_t i = 0; i < correlations.size(); ++i) {
      EXPECT_EQ(index.find(correlations[i]), &calls[i]);
    }
    for (const std::int64_t absent : {std::int64_t{0}, std::int64_t{4}, kMost - 1, kLeast + 1}) {
      EXPECT_EQ(index.find(absent), nullptr);
    }
  }
  EXPECT_EQ(CallIndex({}).find(1), nullptr);
}

TEST(CallIndex, TakesTheOutermostOfCallsWithOneCorrelationInAnyOrder) {
  for (const std::int64_t correlation : {std::int64_t{2}, std::int64_t{1'000'000'000'000}}) {
    std::vector<Call> calls{launch(correlation, {10, 20}), launch(correlation, {10, 15}),
                            launch(correlation, {12, 30}), launch(1, {0, 1})};
    for (std::size_t turn = 0; turn < calls.size(); ++turn) {
      std::ranges::rotate(calls, calls.begin() + 1);
      EXPECT_EQ(CallIndex(calls).find(correlation)->span, (Span{10, 20}));
    }
  }
}

// As SynchronizedCalls says, by looking at all calls.
const Call* last_before(const std::vector<Call>& calls, const Call& call) {
  const auto key = [](const Call& x) {
    return std::tuple(x.span.begin_ns, -x.span.end_ns, x.correlation, x.synchronizes);
  };
  const Call* last = nullptr;
  for (const Call& other : calls) {
    if (other.thread != call.thread || key(other) >= key(call)) continue;
    if (last == nullptr || key(*last) < key(other)) last = &other;
  }
  return last != nullptr && last->synchronizes ? last : nullptr;
}

TEST(SynchronizedCalls, AreTheLastOfTheirThreadBeforeACall) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    Trace trace;
    trace.threads.resize(3);
    for (std::size_t i = 0, n = random() % 20U; i < n; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 15U);
      Call call = launch(static_cast<std::int64_t>(i) + 1,
                         {begin, begin + static_cast<std::int64_t>(random() % 6U)}, random() % 3U);
      call.synchronizes = random() % 3U == 0;
      trace.calls.push_back(call);
    }
    if (round % 2 == 0)
      std::ranges::sort(trace.calls, {}, [](const Call& x) {
        return std::tuple(x.span.begin_ns, -x.span.end_ns, x.correlation);
      });
    SynchronizedCalls synchronized(trace);
    for (const Call& call : trace.calls) {
      ASSERT_EQ(synchronized.before(call), last_before(trace.calls, call)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace ddpprof

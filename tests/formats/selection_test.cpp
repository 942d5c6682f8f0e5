#include "profiler/formats/selection.h"

#include "profiler/formats/native.h"
#include "profiler/trace/error.h"
#include "tests/formats/random_trace.h"
#include "tests/formats/small_trace.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(TimeRange, ReadsUnitsAndOpenSides) {
  EXPECT_EQ(parse_time_range("1.5s:3s"), (TimeRange{1'500'000'000, 3'000'000'000}));
  EXPECT_EQ(parse_time_range("0.1234567s:"), (TimeRange{123'456'700, {}}));
  EXPECT_EQ(parse_time_range(":40us"), (TimeRange{{}, 40'000}));
  EXPECT_EQ(parse_time_range("7ns:2"), (TimeRange{7, 2'000'000'000}));
  EXPECT_EQ(parse_time_range("200ms:400ms"), (TimeRange{200'000'000, 400'000'000}));
  EXPECT_EQ(parse_time_range(":"), TimeRange{});
}

TEST(TimeRange, RefusesWhatIsNone) {
  for (const char* text : {"", "3s", "a:b", "1e3:2e3", "-1s:2s", "1s:1s", "2s:1s", "1m:2m",
                           "1.2.3s:", "s:", "99999999999999999999s:"}) {
    EXPECT_THROW(parse_time_range(text), UsageError) << text;
  }
}

// The first step begins at 2 ms and the second at 4 ms.
TEST(SelectTime, KeepsWhatOverlapsTheRangeWhole) {
  const Trace small = test::small_trace();
  const Trace part =
      select_time({small}, {.begin_ns = 400'000, .end_ns = 700'500}).front();  // 2.4 to 2.7 ms
  Step cut = small.steps[0];
  cut.has_losses = true;  // it is longer than the range
  EXPECT_EQ(part.steps, (std::vector{cut}));
  EXPECT_EQ(part.scopes, small.scopes);
  EXPECT_TRUE(part.calls.empty());
  ASSERT_EQ(part.work, (std::vector{small.work[1]}));
  ASSERT_EQ(part.collectives.size(), 2u);
  EXPECT_EQ(part.collectives[0].work, 0u);  // moved up
  EXPECT_EQ(part.names, small.names);
  TraceInfo info = small.info;
  info.counts.clear();  // of two steps
  EXPECT_EQ(part.info, info);
}

TEST(SelectTime, ForgetsWorkThatIsLeftOut) {
  Trace small = test::small_trace();
  small.work[1].span = {2'100'000, 2'200'000};
  const Trace part = select_time({small}, {.begin_ns = 300'000, .end_ns = {}}).front();
  ASSERT_EQ(part.collectives.size(), 2u);
  EXPECT_FALSE(part.collectives[0].work);
}

TEST(SelectTime, OfAllIsAll) {
  const Trace small = test::small_trace();
  EXPECT_EQ(select_time({small}, {.begin_ns = 0, .end_ns = 4'000'500}).front(), small);
}

// Launched at 2.1 ms, begins at 2.11 ms: after a range that ends between the two.
TEST(SelectTime, MarksAStepThatLosesWork) {
  Trace small = test::small_trace();
  small.steps[0].span.end_ns = 2'105'000;
  const Trace part = select_time({small}, {.begin_ns = {}, .end_ns = 106'000}).front();
  ASSERT_EQ(part.steps.size(), 1u);
  EXPECT_TRUE(part.steps[0].has_losses);
  small.work[0].span.begin_ns = 2'105'500;
  EXPECT_FALSE(
      select_time({small}, {.begin_ns = {}, .end_ns = 106'000}).front().steps[0].has_losses);
}

TEST(SelectTime, IsOnOneClockForAllRanks) {
  std::vector<Trace> traces = {test::small_trace(), test::small_trace()};
  traces[1].info.boot_id = "other";
  traces[1].info.clock_begin.real_ns += 1'000'000'000;
  const std::vector<Trace> part = select_time(traces, {.begin_ns = {}, .end_ns = 500'000'000});
  EXPECT_EQ(part[0], traces[0]);
  EXPECT_EQ(count_events({part[1]}), 0);
}

TEST(SelectFirst, KeepsWholeStepsFromTheFront) {
  const Trace small = test::small_trace();
  const std::int64_t all = count_events({small});
  EXPECT_EQ(select_first({small}, all).front(), small);
  const Trace part = select_first({small}, all - 1).front();
  EXPECT_EQ(part.steps, (std::vector{small.steps[0]}));
  EXPECT_EQ(count_events({part}), all - 1);
  try {
    select_first({small}, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "--max-events 3");
    EXPECT_EQ(error.problem, "the first step alone has " + std::to_string(all - 1));
  }
}

TEST(Selection, OfAnyTraceIsATraceWithinTheBounds) {
  test::Random random(9);
  for (int round = 0; round < 300; ++round) {
    const std::vector<Trace> traces = {test::random_trace(random), test::random_trace(random)};
    const std::int64_t most = test::random_below(random, 60);
    try {
      for (const Trace& part : select_first(traces, most)) {
        EXPECT_EQ(read_native(write_native(part), "part"), part);
      }
      EXPECT_LE(count_events(select_first(traces, most)), most);
    } catch (const Error& error) {
      EXPECT_EQ(error.subject, "--max-events " + std::to_string(most));
    }
    const std::int64_t begin = test::random_integer(random);
    for (const Trace& part : select_time(traces, {.begin_ns = begin, .end_ns = {}})) {
      EXPECT_EQ(read_native(write_native(part), "part"), part);
    }
  }
}

}  // namespace
}  // namespace ddpprof

#include "profiler/formats/rows.h"

#include <random>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using Rows = std::vector<std::int64_t>;

TEST(Rows, TakesTheLowestFreeRow) {
  const std::vector<Span> spans = {{0, 4}, {2, 7}, {4, 8}, {5, 6}, {7, 9}};
  EXPECT_EQ(find_rows(spans), (Rows{0, 1, 0, 2, 1}));
}

TEST(Rows, KeepsTheOrderOfTheSpansGiven) {
  const std::vector<Span> spans = {{2, 7}, {0, 4}};
  EXPECT_EQ(find_rows(spans), (Rows{1, 0}));
}

TEST(Rows, AnEmptySpanTakesARowForAnInstant) {
  const std::vector<Span> spans = {{5, 5}, {5, 3}, {5, 8}};
  EXPECT_EQ(find_rows(spans), (Rows{0, 0, 0}));
}

TEST(Rows, NoRowHoldsTwoSpansAtATime) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<Span> spans(random() % 40);
    for (Span& span : spans) {
      span.begin_ns = static_cast<std::int64_t>(random() % 100);
      span.end_ns = span.begin_ns + static_cast<std::int64_t>(random() % 30);
    }
    const Rows rows = find_rows(spans);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (rows[i] != rows[j]) continue;
        ASSERT_TRUE(spans[i].end_ns <= spans[j].begin_ns || spans[j].end_ns <= spans[i].begin_ns);
      }
    }
  }
}

}  // namespace
}  // namespace ddpprof

#include "profiler/diagnose/sweep.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(Sweep, GivesEachInstantToTheFirstIntervalThatContainsIt) {
  const std::vector<Span> by_priority{{2, 6}, {0, 4}, {4, 10}};
  EXPECT_EQ(sweep(by_priority), (std::vector<Piece>{{{0, 2}, 1}, {{2, 6}, 0}, {{6, 10}, 2}}));
}

TEST(Sweep, ReturnsToAnIntervalThatWasInterrupted) {
  const std::vector<Span> by_priority{{3, 5}, {0, 9}};
  EXPECT_EQ(sweep(by_priority), (std::vector<Piece>{{{0, 3}, 1}, {{3, 5}, 0}, {{5, 9}, 1}}));
}

TEST(Sweep, IsNotCutWhereAnIntervalThatLosesBeginsOrEnds) {
  const std::vector<Span> by_priority{{0, 9}, {2, 4}, {5, 6}};
  EXPECT_EQ(sweep(by_priority), (std::vector<Piece>{{{0, 9}, 0}}));
}

TEST(Sweep, LeavesOutInstantsThatNoIntervalContains) {
  const std::vector<Span> by_priority{{6, 8}, {1, 2}, {4, 4}};
  EXPECT_EQ(sweep(by_priority), (std::vector<Piece>{{{1, 2}, 1}, {{6, 8}, 0}}));
  EXPECT_TRUE(sweep({}).empty());
}

TEST(Sweep, AgreesWithAskingEachInstantOnRandomIntervals) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<Span> spans;
    for (std::size_t i = 0, n = random() % 15U; i < n; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 40U);
      spans.push_back({begin, begin + static_cast<std::int64_t>(random() % 12U)});
    }
    std::vector<std::size_t> winner(60, spans.size());
    for (const Piece& piece : sweep(spans)) {
      for (std::int64_t t = piece.span.begin_ns; t < piece.span.end_ns; ++t) {
        winner[static_cast<std::size_t>(t)] = piece.winner;
      }
    }
    for (std::size_t t = 0; t < winner.size(); ++t) {
      std::size_t first = 0;
      while (first < spans.size() && !spans[first].contains(static_cast<std::int64_t>(t))) ++first;
      ASSERT_EQ(winner[t], first) << "instant " << t;
    }
  }
}

}  // namespace
}  // namespace ddpprof

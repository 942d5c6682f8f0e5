#include "profiler/trace/span.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(Span, ContainsItsBeginAndNotItsEnd) {
  const Span span{2, 5};
  EXPECT_FALSE(span.contains(1));
  EXPECT_TRUE(span.contains(2));
  EXPECT_TRUE(span.contains(4));
  EXPECT_FALSE(span.contains(5));
  EXPECT_EQ(span.length_ns(), 3);
}

TEST(Span, ThatEndsBeforeItBeginsIsEmptyAndHasNoLength) {
  EXPECT_TRUE((Span{5, 5}.empty()));
  EXPECT_TRUE((Span{5, 2}.empty()));
  EXPECT_EQ((Span{5, 2}.length_ns()), 0);
}

TEST(SpanSet, UnionMergesWhatOverlapsOrTouchesAndDropsWhatIsEmpty) {
  EXPECT_EQ(unite({{7, 9}, {0, 2}, {2, 4}, {3, 5}, {6, 6}}), (SpanSet{{0, 5}, {7, 9}}));
  EXPECT_EQ(unite({}), SpanSet{});
}

TEST(SpanSet, IntersectionKeepsWhatIsInBoth) {
  EXPECT_EQ(intersect({{0, 4}, {6, 9}}, {{2, 7}, {8, 20}}), (SpanSet{{2, 4}, {6, 7}, {8, 9}}));
}

TEST(SpanSet, DifferenceCutsHolesAndEnds) {
  EXPECT_EQ(subtract({{0, 10}, {12, 14}}, {{2, 3}, {5, 6}, {9, 13}}),
            (SpanSet{{0, 2}, {3, 5}, {6, 9}, {13, 14}}));
}

TEST(SpanSet, OneHoleMayCutSeveralIntervals) {
  EXPECT_EQ(subtract({{0, 3}, {4, 6}, {7, 9}}, {{1, 8}}), (SpanSet{{0, 1}, {8, 9}}));
}

TEST(SpanSet, ClippingToAnEmptyWindowLeavesNothing) {
  EXPECT_EQ(clip(SpanSet{{0, 4}}, {3, 3}), SpanSet{});
  EXPECT_EQ(clip(SpanSet{{0, 4}, {6, 9}}, {2, 7}), (SpanSet{{2, 4}, {6, 7}}));
  EXPECT_TRUE(clip(Span{0, 2}, {5, 9}).empty());
}

// A set as what it is: a membership of each instant.
std::vector<bool> instants_of(const std::vector<Span>& spans) {
  std::vector<bool> inside(64, false);
  for (const Span& span : spans) {
    for (std::int64_t t = span.begin_ns; t < span.end_ns; ++t) {
      inside[static_cast<std::size_t>(t)] = true;
    }
  }
  return inside;
}

bool has_shape_of_set(const SpanSet& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i].empty() || (i > 0 && set[i].begin_ns <= set[i - 1].end_ns)) return false;
  }
  return true;
}

TEST(SpanSet, OperationsAgreeWithMembershipOfEachInstantOnRandomSets) {
  std::mt19937 random(1);
  const auto draw = [&] {
    std::vector<Span> spans;
    for (std::size_t i = 0, n = random() % 12U; i < n; ++i) {
      const auto begin = static_cast<std::int64_t>(random() % 60U);
      spans.push_back(
          {begin, std::min<std::int64_t>(64, begin + static_cast<std::int64_t>(random() % 9U))});
    }
    return spans;
  };
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Span> raw_a = draw(), raw_b = draw();
    const SpanSet a = unite(raw_a), b = unite(raw_b);
    const SpanSet both = intersect(a, b), rest = subtract(a, b);
    const auto in_a = instants_of(raw_a), in_b = instants_of(raw_b);
    const auto in_both = instants_of(both), in_rest = instants_of(rest);
    ASSERT_EQ(instants_of(a), in_a);
    for (std::size_t t = 0; t < 64; ++t) {
      ASSERT_EQ(in_both[t], in_a[t] && in_b[t]);
      ASSERT_EQ(in_rest[t], in_a[t] && !in_b[t]);
    }
    ASSERT_TRUE(has_shape_of_set(a) && has_shape_of_set(both) && has_shape_of_set(rest));
    ASSERT_EQ(length_ns(both) + length_ns(rest), length_ns(a));
  }
}

}  // namespace
}  // namespace ddpprof

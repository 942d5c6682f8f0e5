#include "profiler/diagnose/cursor.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

std::size_t find_with(Cursor& cursor, const std::vector<int>& sequence, int wanted) {
  return cursor.find(sequence, [&](int element) { return element < wanted; });
}

TEST(Cursor, FindsWhatASearchFindsWhateverTheOrderOfTheQuestions) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> sequence(random() % 60U), questions(80);
    for (int& element : sequence) element = static_cast<int>(random() % 50U);
    for (int& question : questions) question = static_cast<int>(random() % 52U);
    std::ranges::sort(sequence);
    if (round % 3 == 1) std::ranges::sort(questions);
    if (round % 3 == 2) std::ranges::sort(questions, std::greater<>());
    Cursor cursor;
    for (const int wanted : questions) {
      const auto expected = std::ranges::lower_bound(sequence, wanted) - sequence.begin();
      ASSERT_EQ(find_with(cursor, sequence, wanted), static_cast<std::size_t>(expected));
    }
  }
}

TEST(Cursor, LooksAtFewElementsWhenTheQuestionsComeInOrder) {
  std::vector<int> sequence(10'000);
  for (std::size_t i = 0; i < sequence.size(); ++i) sequence[i] = static_cast<int>(i);
  Cursor cursor;
  std::size_t looks_count = 0;
  for (const int wanted : sequence) {
    cursor.find(sequence, [&](int element) {
      ++looks_count;
      return element < wanted;
    });
  }
  EXPECT_LE(looks_count, 3 * sequence.size());
}

}  // namespace
}  // namespace ddpprof

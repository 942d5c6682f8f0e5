// The checks of planted delays notice what they are there to notice.
#include "tests/trainers/delay_check.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr Cell kStall{Phase::forward, Activity::stall};
constexpr Cell kCompute{Phase::forward, Activity::compute};
constexpr Cell kControl{Phase::other, Activity::stall};
constexpr DelayBounds kBounds = {.share = 0.01, .at_least_ns = 50'000, .least_pairs = 40};
constexpr MoveBounds kMoves = {.same_phase_ns = 20'000, .elsewhere_ns = 5'000};
constexpr std::int64_t kDelay_ns = 20'000'000;

// Of 150 steps every third is delayed. `found_ns` in the stall; compute goes up and down by some
// 100 us, and up by `moved_ns` with the delay.
std::vector<StepTable> steps(std::int64_t found_ns, std::int64_t moved_ns) {
  std::vector<StepTable> tables(150);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const bool is_delayed = i % 3 == 2;
    const auto noise_ns = static_cast<std::int64_t>(i * 7919 % 101) * 1000;
    tables[i].step = static_cast<std::int64_t>(i);
    if (is_delayed) tables[i].delay_ns = kDelay_ns;
    tables[i].cells_ns = {{kStall, is_delayed ? found_ns : 0},
                          {kControl, is_delayed ? 0 : kDelay_ns},
                          {kCompute, 500'000 + noise_ns + (is_delayed ? moved_ns : 0)}};
  }
  return tables;
}

TEST(DelayCheck, IsContentWithADelayThatComesBack) {
  const auto tables = steps(kDelay_ns - 150'000, 0);
  expect_delay_in(tables, kStall, kBounds);
  expect_moves_only(tables, kStall, kMoves);
}

TEST(DelayCheck, NoticesADelayThatComesBackTooShortOrElsewhere) {
  static const auto short_ones = steps(kDelay_ns - 250'000, 0);
  EXPECT_NONFATAL_FAILURE(expect_delay_in(short_ones, kStall, kBounds), "forward/stall: expected");
  EXPECT_NONFATAL_FAILURE(expect_delay_in(short_ones, kCompute, kBounds), "expected 20000.0 us");
}

TEST(DelayCheck, NoticesThatAnotherCellMoves) {
  static const auto moved = steps(kDelay_ns, 90'000);
  EXPECT_NONFATAL_FAILURE(expect_moves_only(moved, kStall, kMoves), "forward/compute moves");
  static const auto still = steps(kDelay_ns, 0);
  EXPECT_NONFATAL_FAILURE(expect_moves_only(still, kControl, kMoves), "forward/stall moves");
}

TEST(DelayCheck, NoticesAResidual) {
  static auto tables = steps(kDelay_ns, 0);
  tables[7].residual_ns = 1;
  EXPECT_NONFATAL_FAILURE(expect_delay_in(tables, kStall, kBounds), "step 7");
}

// Of 60 coins fewer than 10 fall heads with 1.5e-8, fewer than 11 with 8.1e-8, which is more than
// half of 1e-7.
TEST(DelayCheck, HasAnIntervalThatHardlyEverMisses) {
  std::vector<StepTable> tables(120);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (i % 2 == 0) tables[i].delay_ns = 1;
    tables[i].cells_ns = {{kCompute, i % 2 == 0 ? static_cast<std::int64_t>(i / 2) : 0}};
  }
  const Move move = move_of(tables, kCompute);
  EXPECT_EQ(move.pairs_count, 60U);
  EXPECT_EQ(move.median_ns, 29.5);
  EXPECT_EQ(move.lo_ns, 9);
  EXPECT_EQ(move.hi_ns, 50);
}

}  // namespace
}  // namespace ddpprof::test

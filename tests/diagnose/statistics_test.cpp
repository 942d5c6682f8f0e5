#include "profiler/diagnose/statistics.h"

#include <cmath>
#include <random>
#include <stdexcept>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// Normal noise that is the same with every standard library (Box and Muller).
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : engine_(seed) {}
  double operator()() {
    const double u = uniform(), v = uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979323846 * v);
  }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) / 9007199254740992.0; }
  std::mt19937_64 engine_;
};

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  // R: quantile(c(15, 20, 35, 40, 50), c(.05, .3, .4, .5, 1), type = 7)
  const std::vector<double> values{35, 20, 15, 50, 40};
  EXPECT_DOUBLE_EQ(quantile(values, 0.05), 16);
  EXPECT_DOUBLE_EQ(quantile(values, 0.3), 23);
  EXPECT_DOUBLE_EQ(quantile(values, 0.4), 29);
  EXPECT_DOUBLE_EQ(quantile(values, 0.5), 35);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 15);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 50);
}

TEST(Quantile, OfOneValueIsThatValue) { EXPECT_EQ(quantile(std::vector{4.5}, 0.9), 4.5); }

TEST(Quantile, RefusesNoValuesAndOrdersOutsideZeroToOne) {
  EXPECT_THROW(quantile({}, 0.5), std::logic_error);
  EXPECT_THROW(quantile(std::vector{1.0}, 1.01), std::logic_error);
  EXPECT_THROW(quantile(std::vector{1.0}, std::nan("")), std::logic_error);
}

TEST(Median, OfAnEvenNumberIsTheMiddleOfTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
}

TEST(MedianEstimate, HasNoIntervalBelowFiveSamples) {
  EXPECT_FALSE(median_estimate({{1, 2}, {3, 4}}).ci95);
  EXPECT_TRUE(median_estimate({{1, 2}, {3, 4, 5}}).ci95);
  EXPECT_THROW(median_estimate({{}, {}}), std::logic_error);
}

TEST(MedianEstimate, IsTheSameForTheSameSeedAndAnotherForAnother) {
  Noise noise(3);
  Rounds rounds(6, std::vector<double>(7));
  for (auto& round : rounds) {
    for (double& value : round) value = 10 + noise();
  }
  EXPECT_EQ(median_estimate(rounds), median_estimate(rounds));
  EXPECT_NE(median_estimate(rounds, 1).ci95, median_estimate(rounds, 2).ci95);
  EXPECT_DOUBLE_EQ(median_estimate(rounds).value, median(flatten(rounds)));
}

TEST(MedianEstimate, OfEqualSamplesIsAPoint) {
  const Estimate estimate = median_estimate({{5, 5}, {5, 5}, {5}});
  EXPECT_EQ(estimate.ci95, (Interval{5, 5}));
}

TEST(MedianEstimate, GrowsWiderWhenRoundsDriftApart) {
  const Rounds steady{{10, 11, 12}, {10, 11, 12}, {10, 11, 12}, {10, 11, 12}};
  const Rounds drifting{{8, 9, 10}, {10, 11, 12}, {12, 13, 14}, {14, 15, 16}};
  const auto width = [](const Rounds& rounds) {
    const Interval interval = median_estimate(rounds).ci95.value();
    return interval.hi - interval.lo;
  };
  EXPECT_GT(width(drifting), 2 * width(steady));
}

TEST(RatioEstimate, OfARunWithItselfIsOne) {
  const Rounds rounds{{10, 12, 11}, {20, 21, 25}, {9, 8, 10}};
  const Estimate ratio = ratio_estimate(rounds, rounds);
  EXPECT_DOUBLE_EQ(ratio.value, 1);
  ASSERT_TRUE(ratio.ci95);
  EXPECT_LE(ratio.ci95->lo, 1);
  EXPECT_GE(ratio.ci95->hi, 1);
}

TEST(RatioEstimate, CancelsDriftThatBothSidesShare) {
  Rounds slow, fast;
  for (const double drift : {1.0, 1.5, 2.0, 2.5, 3.0}) {
    fast.push_back({10 * drift, 10.1 * drift, 9.9 * drift});
    slow.push_back({13 * drift, 13.1 * drift, 12.9 * drift});
  }
  const Estimate ratio = ratio_estimate(slow, fast);
  EXPECT_DOUBLE_EQ(ratio.value, 1.3);
  ASSERT_TRUE(ratio.ci95);
  EXPECT_GT(ratio.ci95->lo, 1.25);
  EXPECT_LT(ratio.ci95->hi, 1.35);
}

TEST(RatioEstimate, RefusesSidesWithDifferentNumbersOfRounds) {
  EXPECT_THROW(ratio_estimate({{1}, {2}}, {{1}}), std::logic_error);
}

TEST(RatioEstimate, LeavesOutRoundsThatOneSideLacks) {
  EXPECT_DOUBLE_EQ(ratio_estimate({{4}, {}, {6}}, {{2}, {1}, {3}}).value, 2);
}

TEST(RatioEstimate, HasNoIntervalBelowFiveSamplesOnASide) {
  EXPECT_FALSE(ratio_estimate({{1, 2}, {1, 2}}, {{1, 2, 3}, {1, 2, 3}}).ci95);
}

// How often the interval holds the truth. A percentile interval over few rounds holds it a little
// less often than it says; the bounds allow for that and for the noise of 400 trials.
template <typename Trial>
double coverage(Trial trial) {
  constexpr int kTrials = 400;
  int covered = 0;
  for (int i = 0; i < kTrials; ++i) covered += trial(static_cast<std::uint64_t>(i)) ? 1 : 0;
  return static_cast<double>(covered) / kTrials;
}

Rounds draw_rounds(Noise& noise, std::size_t rounds_count, std::size_t size, double center,
                   double between, double within) {
  Rounds rounds;
  for (std::size_t i = 0; i < rounds_count; ++i) {
    const double middle = center + between * noise();
    rounds.emplace_back();
    for (std::size_t j = 0; j < size; ++j) rounds.back().push_back(middle + within * noise());
  }
  return rounds;
}

TEST(MedianEstimate, CoversTheTruthAboutAsOftenAsItSays) {
  const double covered = coverage([](std::uint64_t seed) {
    Noise noise(seed);
    const auto interval = median_estimate(draw_rounds(noise, 10, 5, 100, 2, 1), seed).ci95.value();
    return interval.lo <= 100 && 100 <= interval.hi;
  });
  EXPECT_GE(covered, 0.88);
  EXPECT_LE(covered, 0.99);
}

TEST(RatioEstimate, CoversTheTruthAboutAsOftenAsItSaysWhileTheMachineDrifts) {
  const double covered = coverage([](std::uint64_t seed) {
    Noise noise(seed + 1000);
    Rounds above, below;
    for (int round = 0; round < 10; ++round) {
      const double drift = 1 + 0.2 * noise() * 0.5;
      above.push_back(draw_rounds(noise, 1, 5, 130 * drift, 0, 3)[0]);
      below.push_back(draw_rounds(noise, 1, 5, 100 * drift, 0, 3)[0]);
    }
    const auto interval = ratio_estimate(above, below, seed).ci95.value();
    return interval.lo <= 1.3 && 1.3 <= interval.hi;
  });
  EXPECT_GE(covered, 0.90);
  EXPECT_LE(covered, 1.0);
}

}  // namespace
}  // namespace ddpprof

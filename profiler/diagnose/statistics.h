// The few statistics the project uses, as free functions. All are deterministic: the bootstrap
// takes its seed from the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ddpprof {

struct Interval {
  double lo = 0;
  double hi = 0;

  bool operator==(const Interval&) const = default;
};

// A value with its 95 % interval; the interval is absent when there are too few data for one.
struct Estimate {
  double value = 0;
  std::optional<Interval> ci95;

  bool operator==(const Estimate&) const = default;
};

// The q-quantile by linear interpolation between order statistics (Hyndman and Fan 1996, type 7).
// Throws std::logic_error when `values` is empty or q is outside [0, 1].
double quantile(std::span<const double> values, double q);
double median(std::span<const double> values);

// Samples that were taken in rounds: what one round measured lies close together, rounds drift.
using Rounds = std::vector<std::vector<double>>;

std::vector<double> flatten(const Rounds& rounds);

inline constexpr std::uint64_t kBootstrapSeed = 20240607;
inline constexpr int kBootstrapResamples = 2000;

// The median of all samples, with a percentile interval from a two-stage bootstrap: rounds are
// drawn with replacement, then samples inside each. With fewer than three rounds only samples are
// drawn; with fewer than five samples in all there is no interval. Empty rounds
// are left out.
// Throws std::logic_error when there is no sample.
// Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), 3.8.
Estimate median_estimate(const Rounds& rounds, std::uint64_t seed = kBootstrapSeed);

// The median over rounds of (median of numerator's round / median of denominator's round). In the
// bootstrap the same round indices are drawn for both sides, so that drift of the machine cancels,
// then samples inside each side's round; with fewer than three rounds only samples are drawn. No
// interval when a side has fewer than five samples in all.
// Shape: the same number of rounds on both sides, round k of both measured next to each other in
// time; a round that one side lacks (is empty) is left out.
// Throws std::logic_error when the numbers of rounds differ or no round has both sides.
Estimate ratio_estimate(const Rounds& numerator, const Rounds& denominator,
                        std::uint64_t seed = kBootstrapSeed);

}  // namespace ddpprof

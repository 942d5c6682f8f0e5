#include "profiler/diagnose/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

namespace ddpprof {
namespace {

constexpr std::size_t kMinimumSamples = 5;
constexpr std::size_t kMinimumRounds = 3;
constexpr double kLowerTail = 0.025;
constexpr double kUpperTail = 0.975;

double sorted_quantile(const std::vector<double>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = position - std::floor(position);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

// The same value as median() without sorting all of it; reorders `values`.
double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + 0.5 * (*middle - below);
}

// Indices drawn with replacement. Not std::uniform_int_distribution: its sequence differs between
// standard libraries. The bias of n / 2^32 is far below the noise of the resampling.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  std::size_t operator()(std::size_t n) {
    const std::uint64_t high = engine_() >> 32U;
    return static_cast<std::size_t>((high * n) >> 32U);
  }

 private:
  std::mt19937_64 engine_;
};

void append_resample(const std::vector<double>& from, Draw& draw, std::vector<double>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) to.push_back(from[draw(from.size())]);
}

// Which rounds one resample looks at: drawn when there are enough of them, else all.
void draw_rounds(std::size_t rounds_count, Draw& draw, std::vector<std::size_t>& rounds) {
  rounds.resize(rounds_count);
  for (std::size_t i = 0; i < rounds_count; ++i) {
    rounds[i] = rounds_count < kMinimumRounds ? i : draw(rounds_count);
  }
}

Interval percentile_interval(std::vector<double> resampled) {
  std::ranges::sort(resampled);
  return {sorted_quantile(resampled, kLowerTail), sorted_quantile(resampled, kUpperTail)};
}

Rounds without_empty_rounds(Rounds rounds) {
  std::erase_if(rounds, [](const auto& round) { return round.empty(); });
  return rounds;
}

double round_ratio(std::vector<double> numerator, std::vector<double> denominator) {
  return median_in_place(numerator) / median_in_place(denominator);
}

}  // namespace

double quantile(std::span<const double> values, double q) {
  if (values.empty()) throw std::logic_error("quantile of no values");
  if (!(q >= 0 && q <= 1)) throw std::logic_error("quantile outside [0, 1]");
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted_quantile(sorted, q);
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

std::vector<double> flatten(const Rounds& rounds) {
  std::vector<double> all;
  for (const auto& round : rounds) all.insert(all.end(), round.begin(), round.end());
  return all;
}

Estimate median_estimate(const Rounds& rounds, std::uint64_t seed) {
  const Rounds filled = without_empty_rounds(rounds);
  const std::vector<double> all = flatten(filled);
  Estimate estimate{.value = median(all), .ci95 = {}};
  if (all.size() < kMinimumSamples) return estimate;

  Draw draw(seed);
  std::vector<double> medians;
  medians.reserve(kBootstrapResamples);
  std::vector<std::size_t> drawn;
  std::vector<double> sample;
  for (int i = 0; i < kBootstrapResamples; ++i) {
    draw_rounds(filled.size(), draw, drawn);
    sample.clear();
    for (const std::size_t round : drawn) append_resample(filled[round], draw, sample);
    medians.push_back(median_in_place(sample));
  }
  estimate.ci95 = percentile_interval(std::move(medians));
  return estimate;
}

Estimate ratio_estimate(const Rounds& numerator, const Rounds& denominator, std::uint64_t seed) {
  if (numerator.size() != denominator.size()) {
    throw std::logic_error("ratio of measurements with different numbers of rounds");
  }
  Rounds above, below;
  for (std::size_t i = 0; i < numerator.size(); ++i) {
    if (numerator[i].empty() || denominator[i].empty()) continue;
    above.push_back(numerator[i]);
    below.push_back(denominator[i]);
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(round_ratio(above[i], below[i]));
  Estimate estimate{.value = median(ratios), .ci95 = {}};
  if (std::min(flatten(above).size(), flatten(below).size()) < kMinimumSamples) return estimate;

  Draw draw(seed);
  std::vector<double> medians;
  medians.reserve(kBootstrapResamples);
  std::vector<std::size_t> drawn;
  std::vector<double> top, bottom;
  for (int i = 0; i < kBootstrapResamples; ++i) {
    draw_rounds(above.size(), draw, drawn);
    ratios.clear();
    for (const std::size_t round : drawn) {
      top.clear();
      bottom.clear();
      append_resample(above[round], draw, top);
      append_resample(below[round], draw, bottom);
      ratios.push_back(median_in_place(top) / median_in_place(bottom));
    }
    medians.push_back(median_in_place(ratios));
  }
  estimate.ci95 = percentile_interval(std::move(medians));
  return estimate;
}

}  // namespace ddpprof

#include "trainers/common/sampler.h"

#include "profiler/trace/error.h"

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace ddpprof {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

void check_batch_divides(std::int64_t batch, std::int64_t devices, std::int64_t micro_steps_count) {
  const std::int64_t parts = devices * micro_steps_count;
  if (batch % parts == 0) {
    return;
  }
  const std::int64_t below = batch / parts * parts;
  const std::string above = "--batch " + std::to_string(below + parts);
  throw UsageError(
      "--batch " + std::to_string(batch),
      "does not divide by " + std::to_string(devices) + " devices x " +
          std::to_string(micro_steps_count) + " micro-steps",
      "take " + (below > 0 ? "--batch " + std::to_string(below) + " or " + above : above));
}

void check_batch_fits(std::int64_t batch, std::int64_t samples_count) {
  if (batch > samples_count) {
    throw UsageError("--batch " + std::to_string(batch),
                     "the data set has only " + std::to_string(samples_count) + " samples",
                     "take a batch of at most " + std::to_string(samples_count));
  }
}

Sampler::Sampler(std::int64_t samples_count, std::int64_t batch, std::uint64_t seed)
    : samples_count_(samples_count), batch_(batch), seed_(seed) {
  check_batch_fits(batch, samples_count);
}

void Sampler::set_epoch(std::int64_t epoch) {
  if (epoch == epoch_) {
    return;
  }
  epoch_ = epoch;
  permutation_.resize(static_cast<std::size_t>(samples_count_));
  std::iota(permutation_.begin(), permutation_.end(), std::int64_t{0});
  // Fisher-Yates with a generator of our own: std::shuffle differs between standard libraries.
  std::uint64_t state = mix(mix(seed_) ^ static_cast<std::uint64_t>(epoch));
  for (std::size_t i = permutation_.size(); i > 1; --i) {
    state = mix(state);
    std::swap(permutation_[i - 1], permutation_[state % i]);
  }
}

std::vector<std::int64_t> Sampler::micro_batch(std::int64_t step, std::int64_t micro_step,
                                               std::int64_t micro_steps_count,
                                               DeviceSlice devices) {
  if (batch_ % (devices.total * micro_steps_count) != 0) {
    throw std::logic_error("the batch does not divide by devices x micro-steps");
  }
  set_epoch(step / batches_per_epoch());
  const std::int64_t batch_begin = (step % batches_per_epoch()) * batch_;
  const std::int64_t part = batch_ / (devices.total * micro_steps_count);
  std::vector<std::int64_t> samples;
  samples.reserve(static_cast<std::size_t>(part * devices.count));
  for (std::int64_t device = devices.first; device < devices.first + devices.count; ++device) {
    const std::int64_t begin = batch_begin + (device * micro_steps_count + micro_step) * part;
    samples.insert(samples.end(), permutation_.begin() + begin,
                   permutation_.begin() + begin + part);
  }
  return samples;
}

}  // namespace ddpprof

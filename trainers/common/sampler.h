// Which samples a device sees in which optimizer step.
#pragma once

#include <cstdint>
#include <vector>

namespace ddpprof {

// The devices a process drives, out of all devices of the job: under ddp one, its rank; under dp
// all of them.
struct DeviceSlice {
  std::int64_t first = 0;
  std::int64_t count = 1;
  std::int64_t total = 1;
};

// Throws: UsageError, with a batch that would do, unless devices x micro-steps divides the batch.
void check_batch_divides(std::int64_t batch, std::int64_t devices, std::int64_t micro_steps_count);

// Throws: UsageError when the batch has more samples than the data set.
void check_batch_fits(std::int64_t batch, std::int64_t samples_count);

// An epoch is a permutation of the samples that depends on (seed, epoch) alone, cut into batches;
// what is left over at its end is dropped. A batch is cut into contiguous equal parts, one a
// device and micro-step:
//
//     batch          | device 0          | device 1          |
//     micro-steps    | m 0     | m 1     | m 0     | m 1     |
//
// Guarantees: single, dp and ddp see the same samples in every step, and dp's replica r the same
// as ddp's rank r in every micro-step.
class Sampler {
 public:
  // Throws: as check_batch_fits().
  Sampler(std::int64_t samples_count, std::int64_t batch, std::uint64_t seed);

  std::int64_t batches_per_epoch() const { return samples_count_ / batch_; }

  // The samples of all of `devices` in micro-step `micro_step` of optimizer step `step` (from 0),
  // device by device.
  // Throws: std::logic_error unless devices.total x micro_steps_count divides the batch.
  std::vector<std::int64_t> micro_batch(std::int64_t step, std::int64_t micro_step,
                                        std::int64_t micro_steps_count, DeviceSlice devices);

 private:
  void set_epoch(std::int64_t epoch);

  std::int64_t samples_count_;
  std::int64_t batch_;
  std::uint64_t seed_;
  std::int64_t epoch_ = -1;
  std::vector<std::int64_t> permutation_;  // of the current epoch
};

// A uniform 64-bit value for each input. Source: Steele, Lea, Flood, "Fast splittable pseudorandom
// number generators", 2014 (SplitMix64).
std::uint64_t mix(std::uint64_t x);

}  // namespace ddpprof

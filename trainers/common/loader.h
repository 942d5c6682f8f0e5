// Where the batches of the training loop come from.
#pragma once

#include "trainers/common/options.h"
#include "trainers/common/ordered_producers.h"
#include "trainers/common/sampler.h"
#include "trainers/workloads/workload.h"

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include <c10/core/Device.h>

namespace ddpprof {

// Without threads a batch is fetched when it is taken, by the thread that takes it; with threads
// they fetch ahead, in the order of steps and micro-steps. Which it is changes no batch.
// Threads: the training loop's.
class Loader {
 public:
  // `data` and `options` outlive this. `device` is where batches go; `devices` are those that
  // share them.
  // Throws: UsageError when the batch does not fit the data set.
  Loader(const DataSet& data, const TrainOptions& options, DeviceSlice devices, at::Device device);

  // Whether the thread that takes a batch computes meanwhile, or waits.
  bool computes() const { return options_.loader.threads == 0; }
  std::int64_t batches_per_epoch() const { return sampler_.batches_per_epoch(); }

  // The batch of a micro-step of an optimizer step, both counted from 0, on its way to the device.
  // The first one, and one that does not follow the one before, makes the threads begin there.
  // Throws: what fetching threw, in whichever thread.
  Batch take(std::int64_t step, std::int64_t micro_step);

 private:
  void start(std::int64_t index);
  Batch fetch(const std::vector<std::int64_t>& samples, const std::stop_token& stop) const;
  Batch move(Batch batch) const;

  const DataSet& data_;
  const TrainOptions& options_;
  DeviceSlice devices_;
  at::Device device_;
  Sampler sampler_;
  std::optional<OrderedProducers<Batch>> producers_;  // last: it uses the others
};

}  // namespace ddpprof

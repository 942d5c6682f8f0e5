#include "trainers/common/loader.h"

#include "trainers/common/accelerator.h"
#include "trainers/common/data_cost.h"

#include <mutex>
#include <string>
#include <utility>

// at::set_num_threads
#include <ATen/Parallel.h>
#include <pthread.h>

namespace ddpprof {

Loader::Loader(const DataSet& data, const TrainOptions& options, DeviceSlice devices,
               at::Device device)
    : data_(data),
      options_(options),
      devices_(devices),
      device_(device),
      sampler_(data.samples_count, options.batch, options.workload_options.seed) {}

Batch Loader::take(std::int64_t step, std::int64_t micro_step) {
  if (computes()) {
    return move(fetch(sampler_.micro_batch(step, micro_step, options_.micro_steps, devices_), {}));
  }
  const std::int64_t index = step * options_.micro_steps + micro_step;
  if (!producers_ || producers_->next() != index) {
    start(index);
  }
  return move(producers_->take());
}

void Loader::start(std::int64_t index) {
  producers_.reset();  // the sampler is theirs while they run
  const auto plan = [this](std::int64_t i) {
    return [this, samples = sampler_.micro_batch(i / options_.micro_steps, i % options_.micro_steps,
                                                 options_.micro_steps, devices_)](
               const std::stop_token& stop) { return fetch(samples, stop); };
  };
  // One intra-op thread each, as in the workers of PyTorch's DataLoader. PyTorch keeps that number
  // a thread, but what is set last is also what later threads begin with: hence the last line.
  // Source: torch/utils/data/_utils/worker.py and aten/src/ATen/ParallelOpenMP.cpp, 2.11.
  const int intra_op_threads = at::get_num_threads();
  std::mutex mutex;
  const auto enter = [&mutex](std::int64_t thread) {
    ::pthread_setname_np(::pthread_self(), ("loader " + std::to_string(thread)).c_str());
    const std::lock_guard lock(mutex);
    at::get_num_threads();  // the first call in a thread sets it to what threads begin with
    at::set_num_threads(1);
  };
  const LoaderOptions& loader = options_.loader;
  producers_.emplace(loader.threads, loader.threads * loader.prefetch, index, plan, enter);
  at::set_num_threads(intra_op_threads);
}

Batch Loader::fetch(const std::vector<std::int64_t>& samples, const std::stop_token& stop) const {
  Batch batch = data_.fetch(samples);
  if (options_.loader.cost_ns > 0) {
    compute_for(static_cast<std::int64_t>(samples.size()) * options_.loader.cost_ns, stop);
  }
  return options_.loader.pin_memory ? pin_batch(std::move(batch)) : batch;
}

Batch Loader::move(Batch batch) const {
  return options_.loader.pin_memory ? move_batch_aside(std::move(batch), device_)
                                    : move_batch(std::move(batch), device_);
}

}  // namespace ddpprof

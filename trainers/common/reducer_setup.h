// PyTorch's own Reducer and Logger, put together as DistributedDataParallel does in Python.
#pragma once

#include "trainers/common/options.h"
#include "trainers/common/parameters.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace ddpprof {

struct ReducerParts {
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;  // the Reducer only has a weak pointer to it
};

// Checks that all ranks have the same parameters and gives them rank 0's values; collective.
void take_over_rank_0(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                      const std::vector<at::Tensor>& parameters,
                      const std::vector<at::Tensor>& buffers);

// Collective: all ranks make it from equal parameters and options.
ReducerParts make_reducer(const NamedTensors& parameters,
                          const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                          const ReducerOptions& options, const std::string& model_name);

// Rank 0's buffers for all; collective.
void broadcast_buffers(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                       const std::vector<at::Tensor>& buffers);

// The buckets in DDPLoggingData's words: indices of parameters, "2 1, 0" for two buckets.
// Throws: Error unless each of `parameters_count` is in one.
std::vector<std::vector<std::size_t>> parse_buckets(const std::string& text,
                                                    std::size_t parameters_count);

// Gradients travel in the hook's type and come back in their own: half the bytes of fp32, and two
// more passes over each bucket. Nothing for CommHook::none.
void add_comm_hook(c10d::Reducer& reducer, const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                   CommHook hook);

// A communication hook that adds the ranks' gradients and does not divide: a planted fault.
void plant_summing_hook(c10d::Reducer& reducer,
                        const c10::intrusive_ptr<c10d::ProcessGroup>& group);

// Python's DDPSink: an identity around the model's output. Its backward leaves undefined gradients
// undefined, and calls `on_backward`, which must outlive it, as the first thing.
at::Tensor sink(const at::Tensor& output, const std::function<void()>& on_backward);

}  // namespace ddpprof

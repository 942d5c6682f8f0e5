#include "trainers/cuda/replicas.h"

#include "trainers/common/parameters.h"
#include "trainers/cuda/reduce_add_coalesced.h"
#include "trainers/workloads/model.h"

#include <algorithm>
#include <set>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/cuda/comm.h>
#include <torch/csrc/utils/tensor_flatten.h>

namespace ddpprof {
namespace {

// How torch::cuda::broadcast_coalesced cuts them.
std::vector<std::int64_t> chunk_bytes_of(const std::vector<at::Tensor>& tensors) {
  std::vector<std::int64_t> bytes;
  for (const auto& chunk : torch::utils::take_tensors(tensors, kCoalescedBytes)) {
    bytes.push_back(static_cast<std::int64_t>(chunk.size));
  }
  return bytes;
}

}  // namespace

Replicas::Replicas(Recorder& recorder, const Workload& workload, const Model& original,
                   const std::vector<at::Device>& devices)
    : recorder_(recorder),
      collectives_(recorder, devices),
      original_(tensors_of(original)),
      parameter_chunks_(chunk_bytes_of(original_.parameters)),
      buffer_chunks_(chunk_bytes_of(original_.buffers)) {
  for (const at::Device device : devices) {
    ordinals_.push_back(device.index());
    models_.push_back(workload.make_model());
    models_.back()->to(device);
    models_.back()->train();
    tensors_.push_back(tensors_of(*models_.back()));
    for (at::Tensor& parameter : tensors_.back().parameters) {
      parameter.requires_grad_(false);
    }
  }
  use_nccl_ = std::set(ordinals_.begin(), ordinals_.end()).size() == ordinals_.size();
}

Replicas::Tensors Replicas::tensors_of(const Model& model) {
  return {.parameters = unique_parameters(model).tensors, .buffers = unique_buffers(model)};
}

std::vector<std::vector<at::Tensor>> Replicas::broadcast(
    const std::vector<at::Tensor>& tensors, const std::vector<std::int64_t>& chunk_bytes) {
  const auto launch = [&] {
    return torch::cuda::broadcast_coalesced(tensors, ordinals_, kCoalescedBytes);
  };
  return use_nccl_ ? collectives_.broadcast(chunk_bytes, launch) : launch();
}

void Replicas::replicate() {
  std::vector<std::vector<at::Tensor>> parameters;  // [replica][parameter]
  std::vector<std::vector<at::Tensor>> buffers;
  {
    const at::NoGradGuard no_grad;
    parameters = broadcast(original_.parameters, parameter_chunks_);
    if (!original_.buffers.empty()) {
      buffers = broadcast(original_.buffers, buffer_chunks_);
    }
  }
  const auto node = std::make_shared<ReduceAddCoalesced>(
      recorder_, count(), static_cast<std::int64_t>(original_.parameters.size()),
      use_nccl_ ? &collectives_ : nullptr);
  node->set_next_edges(torch::autograd::collect_next_edges(original_.parameters));
  for (std::size_t replica = 0; replica < tensors_.size(); ++replica) {
    Tensors& own = tensors_[replica];
    for (std::size_t i = 0; i < own.parameters.size(); ++i) {
      own.parameters[i].set_data(parameters[replica][i].detach());
      // Makes it input number replica x P + i of the node, and no leaf any more.
      torch::autograd::set_history(own.parameters[i], node);
    }
    for (std::size_t i = 0; i < own.buffers.size(); ++i) {
      own.buffers[i].set_data(buffers[replica][i]);
    }
  }
}

}  // namespace ddpprof

#include "trainers/cuda/reduce_add_coalesced.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/cuda/nccl.h>
#include <torch/csrc/utils/tensor_flatten.h>
#include <torch/version.h>

namespace ddpprof {

static_assert(TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR == 11,
              "torch::cuda::nccl differs from release to release");

ReduceAddCoalesced::ReduceAddCoalesced(Recorder& recorder, std::int64_t replicas_count,
                                       std::int64_t parameters_count,
                                       ReplicaCollectives* collectives)
    : recorder_(recorder),
      replicas_count_(static_cast<std::size_t>(replicas_count)),
      parameters_count_(static_cast<std::size_t>(parameters_count)),
      collectives_(collectives) {}

// Shape: `parts` is one flat tensor a replica, on its device; the sum is on the first one's.
at::Tensor ReduceAddCoalesced::reduce(std::vector<at::Tensor> parts) const {
  if (collectives_ != nullptr) {
    at::Tensor sum = at::empty_like(parts[0]);
    collectives_->reduce(static_cast<std::int64_t>(sum.nbytes()),
                         [&] { torch::cuda::nccl::reduce(parts, sum, /*root=*/0); });
    return sum;
  }
  at::Tensor sum = parts[0];
  for (std::size_t replica = 1; replica < parts.size(); ++replica) {
    sum = sum + parts[replica].to(sum.device(), /*non_blocking=*/true);
  }
  return sum;
}

torch::autograd::variable_list ReduceAddCoalesced::apply(
    torch::autograd::variable_list&& gradients) {
  const PhaseScope scope(recorder_, Phase::grad_reduce, "grad_reduce", {.computes = true});
  const at::NoGradGuard no_grad;
  // [replica][chunk]
  std::vector<std::vector<torch::utils::TensorGroup>> chunks;
  for (std::size_t replica = 0; replica < replicas_count_; ++replica) {
    std::vector<at::Tensor> own;  // [parameter]
    for (std::size_t i = 0; i < parameters_count_; ++i) {
      const std::size_t input = replica * parameters_count_ + i;
      own.push_back(gradients[input].defined() ? std::move(gradients[input])
                                               : input_metadata(input).zeros_like());
    }
    chunks.push_back(torch::utils::take_tensors(own, kCoalescedBytes));
  }
  torch::autograd::variable_list sums;  // one type of parameters: the chunks keep their order
  for (std::size_t chunk = 0; chunk < chunks[0].size(); ++chunk) {
    std::vector<at::Tensor> parts;
    for (const auto& own : chunks) {
      parts.push_back(torch::utils::flatten_dense_tensors(own[chunk].tensors));
    }
    const at::Tensor sum = reduce(std::move(parts));
    for (const at::Tensor& one :
         torch::utils::unflatten_dense_tensors(sum, chunks[0][chunk].tensors)) {
      sums.push_back(one.tensor_data());
    }
  }
  return sums;
}

}  // namespace ddpprof

#include "trainers/host/replicas.h"

#include "trainers/common/parameters.h"
#include "trainers/workloads/model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>

namespace ddpprof {

Replicas::Replicas(const Workload& workload, const Model& original, std::int64_t count)
    : original_(tensors_of(original)) {
  for (std::int64_t replica = 0; replica < count; ++replica) {
    models_.push_back(workload.make_model());
    models_.back()->train();
    tensors_.push_back(tensors_of(*models_.back()));
  }
}

Replicas::Tensors Replicas::tensors_of(const Model& model) {
  return {.parameters = unique_parameters(model).tensors, .buffers = unique_buffers(model)};
}

void Replicas::replicate() {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < original_.parameters.size(); ++i) {
    tensors_[0].parameters[i].set_data(original_.parameters[i].detach());
  }
  for (std::size_t i = 0; i < original_.buffers.size(); ++i) {
    tensors_[0].buffers[i].set_data(original_.buffers[i]);
  }
  for (std::size_t replica = 1; replica < tensors_.size(); ++replica) {
    at::_foreach_copy_(tensors_[replica].parameters, original_.parameters);
    if (!original_.buffers.empty()) {
      at::_foreach_copy_(tensors_[replica].buffers, original_.buffers);
    }
  }
}

void Replicas::reduce_gradients() {
  const at::NoGradGuard no_grad;
  for (const Tensors& replica : tensors_) {
    std::vector<at::Tensor> sums;
    std::vector<at::Tensor> summands;
    for (std::size_t i = 0; i < original_.parameters.size(); ++i) {
      at::Tensor& gradient = replica.parameters[i].mutable_grad();
      at::Tensor& sum = original_.parameters[i].mutable_grad();
      if (gradient.defined() && sum.defined()) {
        sums.push_back(sum);
        summands.push_back(std::move(gradient));
      } else if (gradient.defined()) {
        sum = std::move(gradient);
      }
      gradient = at::Tensor();
    }
    if (!sums.empty()) {
      at::_foreach_add_(sums, summands);
    }
  }
}

}  // namespace ddpprof

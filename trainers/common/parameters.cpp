#include "trainers/common/parameters.h"

#include <unordered_set>

#include <torch/nn/module.h>

namespace ddpprof {

NamedTensors unique_parameters(const torch::nn::Module& module) {
  NamedTensors result;
  std::unordered_set<c10::TensorImpl*> seen;
  for (const auto& parameter : module.named_parameters()) {
    if (parameter.value().requires_grad() &&
        seen.insert(parameter.value().unsafeGetTensorImpl()).second) {
      result.names.push_back(parameter.key());
      result.tensors.push_back(parameter.value());
    }
  }
  return result;
}

NamedTensors named_buffers(const torch::nn::Module& module) {
  NamedTensors result;
  std::unordered_set<c10::TensorImpl*> seen;
  for (const auto& buffer : module.named_buffers()) {
    if (seen.insert(buffer.value().unsafeGetTensorImpl()).second) {
      result.names.push_back(buffer.key());
      result.tensors.push_back(buffer.value());
    }
  }
  return result;
}

std::vector<at::Tensor> unique_buffers(const torch::nn::Module& module) {
  return named_buffers(module).tensors;
}

std::int64_t count_scalars(const std::vector<at::Tensor>& tensors) {
  std::int64_t count = 0;
  for (const at::Tensor& tensor : tensors) {
    count += tensor.numel();
  }
  return count;
}

std::int64_t count_bytes(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return bytes;
}

}  // namespace ddpprof

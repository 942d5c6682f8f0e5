// A model's parameters and buffers, each tensor once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace ddpprof {

struct NamedTensors {
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;
};

// Module::parameters() lists a tied tensor as often as it is registered; a tensor that is reduced
// or updated twice trains wrongly.
// Shape: in order of first registration; parameters that require no gradient are left out.
NamedTensors unique_parameters(const torch::nn::Module& module);
NamedTensors named_buffers(const torch::nn::Module& module);
std::vector<at::Tensor> unique_buffers(const torch::nn::Module& module);

std::int64_t count_scalars(const std::vector<at::Tensor>& tensors);
std::int64_t count_bytes(const std::vector<at::Tensor>& tensors);

}  // namespace ddpprof

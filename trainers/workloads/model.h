// A model that the trainers can train.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace ddpprof {

// Guarantees: two models of one workload register the same parameters and buffers in the same
// order. Threads: a model is used by one thread at a time.
class Model : public torch::nn::Module {
 public:
  // Shape: the first dimension of inputs and output is the samples.
  virtual at::Tensor forward(const std::vector<at::Tensor>& inputs) = 0;
};

}  // namespace ddpprof

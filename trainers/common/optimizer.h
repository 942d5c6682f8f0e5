// AdamW. Written on PyTorch's multi-tensor operators, because torch::optim::AdamW updates one
// parameter after the other by many small operators and would not be comparable with Python's.
// Source: Loshchilov and Hutter 2019, "Decoupled weight decay regularization", as
// torch.optim.AdamW.
#pragma once

#include "trainers/common/options.h"

#include <vector>

#include <ATen/core/Tensor.h>

namespace ddpprof {

class AdamW {
 public:
  // Shape: `parameters` without duplicates, all of one device and type.
  AdamW(std::vector<at::Tensor> parameters, OptimizerOptions options);

  // One update. Parameters without a gradient stay as they are, their step count too.
  void step();

 private:
  struct Part;  // the parameters that have a gradient now, and their states
  void step_foreach(const Part& part);

  OptimizerOptions options_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> averages_;          // as the parameters
  std::vector<at::Tensor> squared_averages_;  // as the parameters
  std::vector<at::Tensor> steps_;             // scalars, fp32
};

}  // namespace ddpprof

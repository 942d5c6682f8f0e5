// AdamW and SGD. Written on PyTorch's multi-tensor operators, because those of torch::optim update
// one parameter after the other by many small operators and would not be comparable with Python's.
// Source: Loshchilov and Hutter 2019, "Decoupled weight decay regularization", as
// torch.optim.AdamW; Sutskever et al. 2013 with the momentum of torch.optim.SGD.
#pragma once

#include "trainers/common/options.h"

#include <optional>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddpprof {

class Optimizer {
 public:
  // Shape: `parameters` without duplicates, all of one device and type.
  Optimizer(std::vector<at::Tensor> parameters, OptimizerOptions options);

  // One update. Parameters without a gradient stay as they are, their step count too.
  // `found_inf`: a scalar on the parameters' device; nothing changes where it is not 0. Fused
  // optimizers leave that to the device, the others wait to know it.
  // `rate_on_device`: read there in place of `learning_rate`; fused optimizers only.
  void step(double learning_rate, const std::optional<at::Tensor>& found_inf = {},
            const std::optional<at::Tensor>& rate_on_device = {});

  // As torch.optim calls it.
  std::string_view name() const;

  // All it remembers from step to step. Shape: as many tensors as parameters, in their order.
  struct State {
    std::string_view name;  // as in state_dict() of torch.optim
    const std::vector<at::Tensor>& tensors;
  };
  std::vector<State> states() const;

 private:
  struct Part;  // the parameters that have a gradient now, and their states
  void step_adamw(const Part& part, double learning_rate);
  void step_adamw_foreach(const Part& part, double learning_rate);
  void step_sgd(const Part& part, double learning_rate);

  OptimizerOptions options_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> averages_;          // as the parameters; SGD: with momentum only
  std::vector<at::Tensor> squared_averages_;  // as the parameters; AdamW only
  std::vector<at::Tensor> steps_;             // scalars, fp32; AdamW only
};

}  // namespace ddpprof

// What a loss is multiplied by before its backward pass.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace ddpprof {

struct LossScale {
  double factor = 1;
  // On the loss's device, where it changes from step to step without the host's knowing.
  std::optional<at::Tensor> scaler = {};  // ()

  LossScale times(double more) const { return {factor * more, scaler}; }

  at::Tensor applied_to(const at::Tensor& loss) const {
    const at::Tensor scaled = factor == 1 ? loss : loss.mul(factor);
    return scaler ? scaled.mul(*scaler) : scaled;
  }
};

}  // namespace ddpprof

// From the gradients of an optimizer step to new parameters.
#pragma once

#include "trainers/common/loss_scale.h"
#include "trainers/common/optimizer.h"
#include "trainers/common/parameters.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddpprof {

// Loss scaling keeps small fp16 gradients from becoming 0: the loss is multiplied by a scale before
// backward, the gradients divided by it after. Where one is not finite then, the step is skipped
// and a dynamic scale halved; after growth_interval steps in a row it is doubled.
// Clipping multiplies all gradients by min(1, clip_norm / (norm + 1e-6)), their norm as one vector.
// Nothing here waits for the device (but see Optimizer). Gradients are the same on all ranks, so
// what is decided by them is, too.
// Source: Micikevicius et al. 2018, "Mixed precision training", section 3.2, with the constants of
// torch.amp.GradScaler; torch.nn.utils.clip_grad_norm_.
class Update {
 public:
  // `run_steps`: the length of the run, in optimizer steps.
  Update(std::vector<at::Tensor> parameters, const TrainOptions& options, std::int64_t run_steps);

  // For the losses of the next step. Absent: none.
  const std::optional<at::Tensor>& scaler() const { return scaler_; }  // ()

  // Before what is captured in a CUDA graph: puts the step's learning rate onto the device, where
  // step() reads it from then on.
  void put_learning_rate(std::int64_t step);

  // Gradients as if the loss had not been scaled. Once a step, before step().
  void unscale();
  // `step`: counted from 0.
  void step(std::int64_t step);

  // "Optimizer.step#AdamW.step", as PyTorch's profiler calls them.
  const std::string& step_name() const { return step_name_; }
  const std::string& zero_grad_name() const { return zero_grad_name_; }

  double learning_rate(std::int64_t step) const;
  // Waits for the device. Absent without loss scaling.
  std::optional<std::int64_t> skipped_count() const;

  // All that is remembered from step to step.
  const Optimizer& optimizer() const { return optimizer_; }
  NamedTensors scaling_state() const;

 private:
  std::vector<at::Tensor> gradients() const;
  void clip();

  const TrainOptions& options_;
  const std::int64_t total_steps_;
  std::vector<at::Tensor> parameters_;
  Optimizer optimizer_;
  std::string step_name_, zero_grad_name_;
  // Scalars on the parameters' device; absent without loss scaling.
  std::optional<at::Tensor> scaler_, found_inf_;
  at::Tensor growth_tracker_, skipped_;
  std::optional<at::Tensor> rate_;  // (), where the device reads it
};

}  // namespace ddpprof

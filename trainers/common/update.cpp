#include "trainers/common/update.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace ddpprof {
namespace {

// Source: torch.amp.GradScaler, torch.nn.utils.clip_grad_norm_.
constexpr double kGrowth = 2, kBackoff = 0.5;
constexpr double kClipEpsilon = 1e-6;

}  // namespace

Update::Update(std::vector<at::Tensor> parameters, const TrainOptions& options,
               std::int64_t run_steps)
    : options_(options),
      total_steps_(options.schedule.total_steps.value_or(run_steps)),
      parameters_(std::move(parameters)),
      optimizer_(parameters_, options.optimizer) {
  const std::string name(optimizer_.name());
  step_name_ = "Optimizer.step#" + name + ".step";
  zero_grad_name_ = "Optimizer.zero_grad#" + name + ".zero_grad";
  const LossScaling& scaling = options.loss_scaling;
  if (scaling.kind != LossScaling::Kind::none) {
    const at::TensorOptions scalar =
        at::TensorOptions(parameters_.front().device()).dtype(at::kFloat);
    scaler_ = at::full({}, scaling.scale, scalar);
    found_inf_ = at::zeros({}, scalar);
    growth_tracker_ = at::zeros({}, scalar.dtype(at::kInt));
    skipped_ = at::zeros({}, scalar);
  }
}

std::vector<at::Tensor> Update::gradients() const {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters_) {
    if (parameter.grad().defined()) {
      gradients.push_back(parameter.grad());
    }
  }
  return gradients;
}

void Update::put_learning_rate(std::int64_t step) {
  if (!rate_) {
    rate_ = at::zeros({}, at::TensorOptions(parameters_.front().device()).dtype(at::kFloat));
  }
  rate_->fill_(learning_rate(step));
}

void Update::unscale() {
  if (!scaler_) {
    return;
  }
  const at::NoGradGuard no_grad;
  found_inf_->zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients(), *found_inf_, scaler_->reciprocal());
}

void Update::clip() {
  if (!options_.clip_norm) {
    return;
  }
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> all = gradients();
  if (all.empty()) {
    return;
  }
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(all)));  // ()
  at::_foreach_mul_(all, norm.add(kClipEpsilon).reciprocal().mul(*options_.clip_norm).clamp_max(1));
}

void Update::step(std::int64_t step) {
  clip();
  optimizer_.step(learning_rate(step), found_inf_, rate_);
  if (!scaler_) {
    return;
  }
  const at::NoGradGuard no_grad;
  skipped_.add_(*found_inf_);
  if (options_.loss_scaling.kind == LossScaling::Kind::dynamic) {
    at::_amp_update_scale_(*scaler_, growth_tracker_, *found_inf_, kGrowth, kBackoff,
                           options_.loss_scaling.growth_interval);
  }
}

double Update::learning_rate(std::int64_t step) const {
  return options_.optimizer.learning_rate *
         learning_rate_factor(options_.schedule, total_steps_, step);
}

std::optional<std::int64_t> Update::skipped_count() const {
  return scaler_ ? std::optional(static_cast<std::int64_t>(skipped_.item<double>())) : std::nullopt;
}

NamedTensors Update::scaling_state() const {
  if (!scaler_) {
    return {};
  }
  return {.names = {"scale", "growth_tracker", "skipped"},
          .tensors = {*scaler_, growth_tracker_, skipped_}};
}

}  // namespace ddpprof

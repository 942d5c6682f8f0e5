#include "trainers/common/optimizer.h"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_addcdiv.h>
#include <ATen/ops/_foreach_addcmul.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sqrt.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace ddpprof {
namespace {

// Source: the defaults of torch.optim.AdamW.
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

}  // namespace

struct AdamW::Part {
  std::vector<at::Tensor> parameters, gradients, averages, squared_averages, steps;
};

AdamW::AdamW(std::vector<at::Tensor> parameters, OptimizerOptions options)
    : options_(options), parameters_(std::move(parameters)) {
  for (const at::Tensor& parameter : parameters_) {
    averages_.push_back(at::zeros_like(parameter));
    squared_averages_.push_back(at::zeros_like(parameter));
    // The foreach update reads them on the host.
    const at::Device device =
        options_.kind == OptimizerKind::foreach_adamw ? at::Device(at::kCPU) : parameter.device();
    steps_.push_back(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat)));
  }
}

void AdamW::step() {
  const at::NoGradGuard no_grad;
  Part part;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].grad().defined()) {
      part.parameters.push_back(parameters_[i]);
      part.gradients.push_back(parameters_[i].grad());
      part.averages.push_back(averages_[i]);
      part.squared_averages.push_back(squared_averages_[i]);
      part.steps.push_back(steps_[i]);
    }
  }
  if (part.parameters.empty()) {
    return;
  }
  at::_foreach_add_(part.steps, 1);
  if (options_.kind == OptimizerKind::foreach_adamw) {
    step_foreach(part);
    return;
  }
  at::_fused_adamw_(part.parameters, part.gradients, part.averages, part.squared_averages, {},
                    part.steps, options_.learning_rate, kBeta1, kBeta2, options_.weight_decay,
                    kEpsilon, /*amsgrad=*/false, /*maximize=*/false);
}

void AdamW::step_foreach(const Part& part) {
  at::_foreach_mul_(part.parameters, 1 - options_.learning_rate * options_.weight_decay);
  at::_foreach_lerp_(part.averages, part.gradients, 1 - kBeta1);
  at::_foreach_mul_(part.squared_averages, kBeta2);
  at::_foreach_addcmul_(part.squared_averages, part.gradients, part.gradients, 1 - kBeta2);

  std::vector<at::Scalar> step_sizes;
  std::vector<at::Scalar> corrections;
  for (const at::Tensor& step : part.steps) {
    const double count = step.item<double>();
    step_sizes.emplace_back(-options_.learning_rate / (1 - std::pow(kBeta1, count)));
    corrections.emplace_back(std::sqrt(1 - std::pow(kBeta2, count)));
  }
  std::vector<at::Tensor> denominators = at::_foreach_sqrt(part.squared_averages);
  at::_foreach_div_(denominators, corrections);
  at::_foreach_add_(denominators, kEpsilon);
  at::_foreach_addcdiv_(part.parameters, part.averages, denominators, step_sizes);
}

}  // namespace ddpprof

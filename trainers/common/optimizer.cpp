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
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace ddpprof {
namespace {

// Source: the defaults of torch.optim.AdamW.
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

bool is_adamw(OptimizerKind kind) {
  return kind == OptimizerKind::fused_adamw || kind == OptimizerKind::foreach_adamw;
}
bool is_fused(OptimizerKind kind) {
  return kind == OptimizerKind::fused_adamw || kind == OptimizerKind::fused_sgd;
}

}  // namespace

struct Optimizer::Part {
  std::vector<at::Tensor> parameters, gradients, averages, squared_averages, steps;
  std::optional<at::Tensor> found_inf, rate;  // fused only
};

Optimizer::Optimizer(std::vector<at::Tensor> parameters, OptimizerOptions options)
    : options_(options), parameters_(std::move(parameters)) {
  const bool adamw = is_adamw(options_.kind);
  for (const at::Tensor& parameter : parameters_) {
    if (adamw || options_.momentum != 0) {
      averages_.push_back(at::zeros_like(parameter));
    }
    if (adamw) {
      squared_averages_.push_back(at::zeros_like(parameter));
      // The foreach update reads them on the host.
      const at::Device device = is_fused(options_.kind) ? parameter.device() : at::Device(at::kCPU);
      steps_.push_back(at::zeros({}, at::TensorOptions(device).dtype(at::kFloat)));
    }
  }
}

std::string_view Optimizer::name() const { return is_adamw(options_.kind) ? "AdamW" : "SGD"; }

std::vector<Optimizer::State> Optimizer::states() const {
  if (is_adamw(options_.kind)) {
    return {{"exp_avg", averages_}, {"exp_avg_sq", squared_averages_}, {"step", steps_}};
  }
  return averages_.empty() ? std::vector<State>()
                           : std::vector<State>{{"momentum_buffer", averages_}};
}

void Optimizer::step(double learning_rate, const std::optional<at::Tensor>& found_inf,
                     const std::optional<at::Tensor>& rate_on_device) {
  const at::NoGradGuard no_grad;
  Part part;
  part.rate = rate_on_device;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].grad().defined()) {
      continue;
    }
    part.parameters.push_back(parameters_[i]);
    part.gradients.push_back(parameters_[i].grad());
    if (!averages_.empty()) {
      part.averages.push_back(averages_[i]);
    }
    if (!steps_.empty()) {
      part.squared_averages.push_back(squared_averages_[i]);
      part.steps.push_back(steps_[i]);
    }
  }
  if (part.parameters.empty()) {
    return;
  }
  if (is_fused(options_.kind)) {
    part.found_inf = found_inf;
  } else if (found_inf && found_inf->item<float>() != 0) {
    return;
  }
  if (is_adamw(options_.kind)) {
    step_adamw(part, learning_rate);
  } else {
    step_sgd(part, learning_rate);
  }
}

void Optimizer::step_adamw(const Part& part, double learning_rate) {
  at::_foreach_add_(part.steps, 1);
  if (!is_fused(options_.kind)) {
    step_adamw_foreach(part, learning_rate);
    return;
  }
  const auto update = [&](const auto& rate) {
    at::_fused_adamw_(part.parameters, part.gradients, part.averages, part.squared_averages, {},
                      part.steps, rate, kBeta1, kBeta2, options_.weight_decay, kEpsilon,
                      /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/{}, part.found_inf);
  };
  if (part.rate) {
    update(*part.rate);
  } else {
    update(learning_rate);
  }
  if (part.found_inf) {
    at::_foreach_sub_(part.steps, std::vector<at::Tensor>(part.steps.size(), *part.found_inf));
  }
}

void Optimizer::step_adamw_foreach(const Part& part, double learning_rate) {
  at::_foreach_mul_(part.parameters, 1 - learning_rate * options_.weight_decay);
  at::_foreach_lerp_(part.averages, part.gradients, 1 - kBeta1);
  at::_foreach_mul_(part.squared_averages, kBeta2);
  at::_foreach_addcmul_(part.squared_averages, part.gradients, part.gradients, 1 - kBeta2);

  std::vector<at::Scalar> step_sizes;
  std::vector<at::Scalar> corrections;
  for (const at::Tensor& step : part.steps) {
    const double count = step.item<double>();
    step_sizes.emplace_back(-learning_rate / (1 - std::pow(kBeta1, count)));
    corrections.emplace_back(std::sqrt(1 - std::pow(kBeta2, count)));
  }
  std::vector<at::Tensor> denominators = at::_foreach_sqrt(part.squared_averages);
  at::_foreach_div_(denominators, corrections);
  at::_foreach_add_(denominators, kEpsilon);
  at::_foreach_addcdiv_(part.parameters, part.averages, denominators, step_sizes);
}

// Momentum buffers begin at 0, which gives what torch.optim.SGD's first step does by a copy.
void Optimizer::step_sgd(const Part& part, double learning_rate) {
  if (is_fused(options_.kind)) {
    const auto update = [&](const auto& rate) {
      at::_fused_sgd_(part.parameters, part.gradients, part.averages, options_.weight_decay,
                      options_.momentum, rate, /*dampening=*/0, /*nesterov=*/false,
                      /*maximize=*/false, /*is_first_step=*/false, /*grad_scale=*/{},
                      part.found_inf);
    };
    if (part.rate) {
      update(*part.rate);
    } else {
      update(learning_rate);
    }
    return;
  }
  std::vector<at::Tensor> directions = part.gradients;
  if (options_.weight_decay != 0) {
    directions = at::_foreach_add(directions, part.parameters, options_.weight_decay);
  }
  if (options_.momentum != 0) {
    at::_foreach_mul_(part.averages, options_.momentum);
    at::_foreach_add_(part.averages, directions);
    directions = part.averages;
  }
  at::_foreach_add_(part.parameters, directions, -learning_rate);
}

}  // namespace ddpprof

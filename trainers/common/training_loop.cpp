#include "trainers/common/training_loop.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

namespace ddpprof {

TrainingLoop::TrainingLoop(const StrategyInput& input, Strategy& strategy, DeviceSlice devices)
    : options_(input.options),
      workload_(input.workload),
      place_(input.place),
      fault_(input.fault),
      delay_(input.delay),
      recorder_(input.recorder),
      strategy_(strategy),
      loader_(workload_.training, options_, devices, strategy.device()),
      update_(strategy.parameters(), options_, run_steps()) {
  check_batch_divides(options_.batch, devices.total, options_.micro_steps);
  if (!options_.gradients.empty()) {
    dump_.emplace(options_.gradients, place_.rank);
  }
}

void TrainingLoop::run_step() {
  act_out_warmup_fault(fault_, steps_count_ + 1, place_.rank, place_.world_size);
  delay_.begin_step(steps_count_);
  recorder_.begin_step(steps_count_);
  const double share = 1.0 / static_cast<double>(options_.micro_steps);
  const LossScale scale{share, update_.scaler()};
  if (keeps_records_ && scale.scaler) {
    loss_scales_.push_back(scale.scaler->clone());
  }
  at::Tensor step_loss;  // ()
  for (std::int64_t micro_step = 0; micro_step < options_.micro_steps; ++micro_step) {
    Batch batch;
    {
      const PhaseScope scope(recorder_, Phase::data, "data", {.computes = loader_.computes()});
      delay_.act(Phase::data);
      batch = loader_.take(steps_count_, micro_step);
    }
    const bool sync = micro_step + 1 == options_.micro_steps;
    const at::Tensor loss = strategy_.forward_backward(batch, sync, scale);  // ()
    step_loss = step_loss.defined() ? step_loss.add(loss, share) : loss.mul(share);
  }
  update_parameters();
  if (!first_loss_.defined()) {
    first_loss_ = step_loss;
  }
  last_loss_ = step_loss;
  if (keeps_records_) {
    losses_.push_back(step_loss);
  }
  ++steps_count_;
  recorder_.end_step();
}

void TrainingLoop::update_parameters() {
  constexpr ScopeOptions kInner = {.computes = true, .brief = true};
  const PhaseScope scope(recorder_, Phase::optimizer, "optimizer", {.computes = true});
  delay_.act(Phase::optimizer);
  update_.unscale();
  if (dump_) {
    dump_->write_gradients(steps_count_, strategy_.parameters());
  }
  {
    const PhaseScope inner(recorder_, Phase::optimizer, update_.step_name(), kInner);
    update_.step(steps_count_);
  }
  recorder_.count(Counter::optimizer);
  if (dump_) {
    dump_->write_parameters(steps_count_, strategy_.parameters());
  }
  const PhaseScope inner(recorder_, Phase::optimizer, update_.zero_grad_name(), kInner);
  strategy_.zero_gradients();
}

std::int64_t TrainingLoop::run_steps() const {
  return options_.epochs ? *options_.epochs * steps_per_epoch() : options_.steps;
}

std::optional<double> TrainingLoop::first_loss() const {
  return first_loss_.defined() ? std::optional(first_loss_.item<double>()) : std::nullopt;
}

std::optional<double> TrainingLoop::last_loss() const {
  return last_loss_.defined() ? std::optional(last_loss_.item<double>()) : std::nullopt;
}

std::optional<double> TrainingLoop::mean_last_loss() {
  if (!last_loss_.defined()) {
    return {};
  }
  at::Tensor loss = last_loss_.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);  // ()
  strategy_.sum_over_ranks(loss);
  return loss.item<double>() / place_.world_size;
}

std::vector<TrainingLoop::StepRecord> TrainingLoop::take_records() {
  if (losses_.empty()) {
    return {};
  }
  const auto count = static_cast<std::int64_t>(losses_.size());
  at::Tensor losses = at::stack(losses_).to(at::kDouble);  // (steps)
  losses_.clear();
  strategy_.sum_over_ranks(losses);
  losses = losses.div(place_.world_size).to(at::kCPU);
  at::Tensor scales;  // (steps)
  if (!loss_scales_.empty()) {
    scales = at::stack(loss_scales_).to(at::kCPU).to(at::kDouble);
    loss_scales_.clear();
  }
  std::vector<StepRecord> records;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t step = steps_count_ - count + i;
    StepRecord& record = records.emplace_back();
    record.step = step + 1;
    record.loss = losses.const_data_ptr<double>()[i];
    record.learning_rate = update_.learning_rate(step);
    if (scales.defined()) {
      record.loss_scale = scales.const_data_ptr<double>()[i];
    }
  }
  return records;
}

}  // namespace ddpprof

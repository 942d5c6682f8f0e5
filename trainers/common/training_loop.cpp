#include "trainers/common/training_loop.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/stack.h>

namespace ddpprof {
namespace {

// Before a graph: libraries choose kernels and workspaces in their first calls.
constexpr std::int64_t kEagerSteps = 3;

void copy_batch(const Batch& from, const Batch& to) {
  for (std::size_t i = 0; i < from.inputs.size(); ++i) {
    at::Tensor(to.inputs[i]).copy_(from.inputs[i], /*non_blocking=*/true);
  }
  if (from.target.defined()) {
    at::Tensor(to.target).copy_(from.target, /*non_blocking=*/true);
  }
}

}  // namespace

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
  if (keeps_records_ && update_.scaler()) {
    loss_scales_.push_back(update_.scaler()->clone());
  }
  const bool is_graphed = options_.cuda_graph && eager_steps_ == kEagerSteps;
  const at::Tensor step_loss = is_graphed ? run_graph() : run_eagerly();  // ()
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

Batch TrainingLoop::take_batch(std::int64_t micro_step) {
  const PhaseScope scope(recorder_, Phase::data, "data", {.computes = loader_.computes()});
  delay_.act(Phase::data);
  return loader_.take(steps_count_, micro_step);
}

at::Tensor TrainingLoop::compute(const Batch& batch, std::int64_t micro_step,
                                 const LossScale& scale) {
  const bool sync = micro_step + 1 == options_.micro_steps;
  return strategy_.forward_backward(batch, sync, scale);
}

at::Tensor TrainingLoop::run_eagerly() {
  ++eager_steps_;
  const double share = 1.0 / static_cast<double>(options_.micro_steps);
  const LossScale scale{share, update_.scaler()};
  at::Tensor step_loss;  // ()
  for (std::int64_t micro_step = 0; micro_step < options_.micro_steps; ++micro_step) {
    const at::Tensor loss = compute(take_batch(micro_step), micro_step, scale);  // ()
    step_loss = step_loss.defined() ? step_loss.add(loss, share) : loss.mul(share);
  }
  update_parameters();
  return step_loss;
}

at::Tensor TrainingLoop::run_graph() {
  for (std::int64_t micro_step = 0; micro_step < options_.micro_steps; ++micro_step) {
    Batch batch = take_batch(micro_step);
    if (!graph_) {
      graph_batches_.push_back(std::move(batch));
    } else {
      const PhaseScope scope(recorder_, Phase::data, "copy_to_graph",
                             {.computes = true, .brief = true});
      copy_batch(batch, graph_batches_[static_cast<std::size_t>(micro_step)]);
    }
  }
  update_.put_learning_rate(steps_count_);
  if (!graph_) {
    capture();
  } else {
    recorder_.count(Counter::optimizer);
    for (std::int64_t i = 0; i < options_.micro_steps; ++i) {
      recorder_.count(Counter::forward);
      recorder_.count(Counter::backward);
    }
  }
  const PhaseScope scope(recorder_, Phase::other, "cuda_graph", {.computes = true});
  graph_->launch();
  return graph_loss_.clone();
}

// Phases of kernels in the graph are those in which they were captured.
void TrainingLoop::capture() {
  const double share = 1.0 / static_cast<double>(options_.micro_steps);
  const LossScale scale{share, update_.scaler()};
  graph_.emplace(strategy_.device());
  graph_->capture([&] {
    for (std::int64_t micro_step = 0; micro_step < options_.micro_steps; ++micro_step) {
      const at::Tensor loss =
          compute(graph_batches_[static_cast<std::size_t>(micro_step)], micro_step, scale);  // ()
      graph_loss_ = graph_loss_.defined() ? graph_loss_.add(loss, share) : loss.mul(share);
    }
    update_parameters();
  });
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

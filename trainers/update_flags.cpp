#include "trainers/update_flags.h"

#include "profiler/trace/error.h"
#include "trainers/choose_word.h"
#include "trainers/workloads/table.h"

#include <charconv>
#include <cmath>

#include <CLI/CLI.hpp>

namespace ddpprof {
namespace {

// Absent: fine.
void need(const char* flag, bool is_fine, const char* problem) {
  if (!is_fine) {
    throw UsageError(flag, problem, "see --help");
  }
}

bool is_positive(const std::optional<double>& value) {
  return !value || (*value > 0 && std::isfinite(*value));
}
bool is_not_negative(const std::optional<double>& value) {
  return !value || (*value >= 0 && std::isfinite(*value));
}

}  // namespace

void UpdateFlags::add_to(CLI::App& app) {
  constexpr const char* kGroup = "Update";
  app.add_option("--optimizer", optimizer_, "fused-adamw, foreach-adamw, fused-sgd or foreach-sgd")
      ->group(kGroup);
  app.add_option("--lr", learning_rate_, "Learning rate")->group(kGroup);
  app.add_option("--weight-decay", weight_decay_, "Weight decay")->group(kGroup);
  app.add_option("--momentum", momentum_, "Of SGD (default 0.9)")->group(kGroup);
  app.add_option("--schedule", schedule_,
                 "Learning rate after the warm-up: constant, linear or cosine (to 0 at the end)")
      ->group(kGroup);
  app.add_option("--lr-warmup", lr_warmup_, "Optimizer steps in which it rises (default 0)")
      ->group(kGroup);
  app.add_option("--schedule-steps", schedule_steps_,
                 "Optimizer steps until a schedule ends (default: those of the run)")
      ->group(kGroup);
  app.add_option("--clip-norm", clip_norm_, "Largest norm of all gradients together")
      ->group(kGroup);
  app.add_option("--loss-scale", loss_scale_,
                 "none, dynamic, or a number (default: dynamic with fp16, else none)")
      ->group(kGroup);
  app.add_option("--loss-scale-growth", growth_interval_,
                 "Steps without overflow until a dynamic scale doubles (default 2000)")
      ->group(kGroup);
}

LossScaling UpdateFlags::choose_loss_scaling(Precision precision) const {
  using Kind = LossScaling::Kind;
  LossScaling scaling;
  scaling.kind = precision == Precision::fp16 ? Kind::dynamic : Kind::none;
  if (loss_scale_ && (*loss_scale_ == "none" || *loss_scale_ == "dynamic")) {
    scaling.kind = *loss_scale_ == "none" ? Kind::none : Kind::dynamic;
  } else if (loss_scale_) {
    const char* const end = loss_scale_->data() + loss_scale_->size();
    const auto [rest, code] = std::from_chars(loss_scale_->data(), end, scaling.scale);
    if (code != std::errc{} || rest != end || !is_positive(scaling.scale)) {
      throw UsageError("--loss-scale " + *loss_scale_, "is no positive number",
                       "take none, dynamic or a number such as 1024");
    }
    scaling.kind = Kind::fixed;
  }
  need("--loss-scale-growth", growth_interval_.value_or(1) > 0, "must be at least 1");
  if (growth_interval_ && scaling.kind != Kind::dynamic) {
    throw UsageError("--loss-scale-growth", "is of a dynamic loss scale",
                     "add --loss-scale dynamic");
  }
  scaling.growth_interval = growth_interval_.value_or(scaling.growth_interval);
  return scaling;
}

ScheduleOptions UpdateFlags::choose_schedule() const {
  ScheduleOptions schedule;
  schedule.kind = choose_word<ScheduleKind>("--schedule", schedule_, kScheduleNames);
  schedule.warmup_steps = lr_warmup_.value_or(0);
  schedule.total_steps = schedule_steps_;
  need("--lr-warmup", schedule.warmup_steps >= 0, "must not be negative");
  need("--schedule-steps", schedule_steps_.value_or(1) > 0, "must be at least 1");
  if (schedule_steps_ && schedule.kind == ScheduleKind::constant) {
    throw UsageError("--schedule-steps", "does nothing to a constant learning rate",
                     "add --schedule linear or cosine");
  }
  return schedule;
}

void UpdateFlags::fill_in(const WorkloadDefaults& defaults, TrainOptions& options) const {
  OptimizerOptions& optimizer = options.optimizer;
  optimizer.kind = choose_word<OptimizerKind>("--optimizer", optimizer_, kOptimizerNames);
  const bool is_sgd =
      optimizer.kind == OptimizerKind::fused_sgd || optimizer.kind == OptimizerKind::foreach_sgd;
  if (momentum_ && !is_sgd) {
    throw UsageError("--momentum", "is of SGD", "add --optimizer fused-sgd, or leave it out");
  }
  need("--momentum", is_not_negative(momentum_), "must not be negative");
  need("--lr", is_not_negative(learning_rate_), "must not be negative");
  need("--weight-decay", is_not_negative(weight_decay_), "must not be negative");
  need("--clip-norm", is_positive(clip_norm_), "must be positive");
  optimizer.learning_rate = learning_rate_.value_or(defaults.learning_rate);
  optimizer.weight_decay = weight_decay_.value_or(defaults.weight_decay);
  optimizer.momentum = momentum_.value_or(optimizer.momentum);
  options.clip_norm = clip_norm_;
  options.schedule = choose_schedule();
  options.loss_scaling = choose_loss_scaling(options.precision);
}

}  // namespace ddpprof

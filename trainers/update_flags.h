// Flags of what happens between gradients and new parameters.
#pragma once

#include "trainers/common/options.h"

#include <optional>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace ddpprof {

struct WorkloadDefaults;

class UpdateFlags {
 public:
  void add_to(CLI::App& app);

  // With the workload's own values where none is given. `options.precision` is known.
  // Throws: UsageError.
  void fill_in(const WorkloadDefaults& defaults, TrainOptions& options) const;

 private:
  LossScaling choose_loss_scaling(Precision precision) const;
  ScheduleOptions choose_schedule() const;

  std::string optimizer_ = "fused-adamw", schedule_ = "constant";
  std::optional<std::string> loss_scale_;
  std::optional<double> learning_rate_, weight_decay_, momentum_, clip_norm_;
  std::optional<std::int64_t> lr_warmup_, schedule_steps_, growth_interval_;
};

}  // namespace ddpprof

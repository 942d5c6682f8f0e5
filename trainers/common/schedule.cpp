#include "trainers/common/schedule.h"

#include <cmath>
#include <numbers>

namespace ddpprof {

double learning_rate_factor(const ScheduleOptions& schedule, std::int64_t total_steps,
                            std::int64_t step) {
  if (step < schedule.warmup_steps) {
    return static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  if (schedule.kind == ScheduleKind::constant) {
    return 1;
  }
  if (step >= total_steps) {
    return 0;
  }
  const double progress = static_cast<double>(step - schedule.warmup_steps) /
                          static_cast<double>(total_steps - schedule.warmup_steps);
  return schedule.kind == ScheduleKind::linear ? 1 - progress
                                               : (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace ddpprof

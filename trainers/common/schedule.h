// How the learning rate goes over the steps of a training.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpprof {

enum class ScheduleKind : std::uint8_t { constant, linear, cosine };

inline constexpr std::string_view kScheduleNames[] = {"constant", "linear", "cosine"};

// In optimizer steps of the job, as all here: with N devices and the same batch a device an epoch
// has N times fewer of them, and a schedule made for one device ends too late.
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::constant;
  std::int64_t warmup_steps = 0;
  std::optional<std::int64_t> total_steps;  // absent: the run's; linear and cosine are at 0 there
};

// The factor of the learning rate in optimizer step `step`, from 0 on: (step + 1) / warmup_steps
// over the first warmup_steps; then, with p = (step - warmup_steps) / (total_steps - warmup_steps),
// 1, 1 - p, or (1 + cos(pi p)) / 2, and 0 from total_steps on.
// Source: Loshchilov and Hutter 2017, "SGDR", equation 5, without restarts; warm-up as in Goyal et
// al. 2017, "Accurate, large minibatch SGD", section 2.2.
double learning_rate_factor(const ScheduleOptions& schedule, std::int64_t total_steps,
                            std::int64_t step);

}  // namespace ddpprof

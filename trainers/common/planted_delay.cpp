#include "trainers/common/planted_delay.h"

#include <cerrno>
#include <ctime>
#include <utility>

namespace ddpprof {

PlantedDelay::PlantedDelay(const std::optional<Delay>& delay, at::Device device, Recorder& recorder)
    : delay_(delay), recorder_(recorder) {
  if (delay_ && delay_->kind == DelayKind::device) {
    spin_ = std::make_unique<DeviceSpin>(device, delay_->length_ns);
  }
}

void PlantedDelay::begin_step(std::int64_t index) {
  step_ = index;
  if (delay_) {
    turn_ = delay_->is_due(index) ? Turn::delay : delay_->has_controls ? Turn::control : Turn::none;
  }
}

void PlantedDelay::act_now() {
  const Turn turn = turn_.exchange(Turn::none);
  if (turn == Turn::none) {
    return;
  }
  std::optional<PhaseScope> scope;
  if (turn == Turn::control) {
    scope.emplace(recorder_, Phase::other, "delay_control", ScopeOptions{.brief = true});
  }
  const bool is_kept = turn == Turn::delay && recorder_.is_on();
  if (spin_) {
    spin(is_kept);
  } else {
    sleep(is_kept);
  }
}

void PlantedDelay::sleep(bool is_kept) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t begin_ns = now_ns();
  const std::int64_t end_ns = begin_ns + delay_->length_ns;
  const timespec until{.tv_sec = end_ns / kSecond, .tv_nsec = end_ns % kSecond};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
  if (is_kept) {
    slept_ns_[step_] = now_ns() - begin_ns;
  }
}

void PlantedDelay::spin(bool is_kept) {
  spin_->queue(/*is_measured=*/is_kept);
  if (is_kept) {
    spun_steps_.push_back(step_);
  }
}

std::map<std::int64_t, std::int64_t> PlantedDelay::take_ns() {
  std::map<std::int64_t, std::int64_t> lengths_ns = std::exchange(slept_ns_, {});
  if (spin_) {
    const std::vector<std::int64_t> spun_ns = spin_->take_ns();
    for (std::size_t i = 0; i < spun_ns.size(); ++i) {
      lengths_ns[spun_steps_[i]] = spun_ns[i];
    }
    spun_steps_.clear();
  }
  return lengths_ns;
}

}  // namespace ddpprof

#include "profiler/record/phase_marks.h"

#include <algorithm>

namespace ddpprof {

Phase PhaseMarks::innermost() const {
  return depth_ == 0 ? Phase::other : stack_[std::min(depth_, kMaxDepth) - 1];
}

bool PhaseMarks::mark_change() {
  if (!in_step_ || marks_.back().phase == innermost()) return false;
  marks_.push_back({.step = marks_.back().step, .phase = innermost(), .ends_step = false});
  return true;
}

bool PhaseMarks::begin_step(std::int64_t index) {
  const bool follows =
      !marks_.empty() && marks_.back().ends_step && marks_.back().step + 1 == index;
  const PhaseMark mark{.step = index, .phase = innermost(), .ends_step = false};
  in_step_ = true;
  if (follows) {
    marks_.back() = mark;
    return false;
  }
  marks_.push_back(mark);
  return true;
}

bool PhaseMarks::end_step() {
  if (!in_step_) return false;
  in_step_ = false;
  marks_.push_back({.step = marks_.back().step, .phase = Phase::other, .ends_step = true});
  return true;
}

bool PhaseMarks::push(Phase phase) {
  if (depth_ < kMaxDepth) stack_[depth_] = phase;
  ++depth_;
  return mark_change();
}

bool PhaseMarks::pop() {
  if (depth_ == 0) return false;
  --depth_;
  return mark_change();
}

bool PhaseMarks::change(Phase phase) {
  if (depth_ == 0) return false;
  stack_[std::min(depth_, kMaxDepth) - 1] = phase;
  return mark_change();
}

void PhaseMarks::clear() {
  marks_.clear();
  depth_ = 0;
  in_step_ = false;
}

std::vector<DevicePhase> to_device_phases(std::span<const PhaseMark> marks,
                                          std::span<const std::int64_t> times_ns,
                                          std::int32_t device) {
  std::vector<DevicePhase> phases;
  std::int64_t begin_ns = times_ns.empty() ? 0 : times_ns.front();
  for (std::size_t i = 0; i + 1 < std::min(marks.size(), times_ns.size()); ++i) {
    const std::int64_t end_ns = std::max(begin_ns, times_ns[i + 1]);
    if (!marks[i].ends_step && begin_ns < end_ns) {
      phases.push_back({.span = {begin_ns, end_ns},
                        .device = device,
                        .step = marks[i].step,
                        .phase = marks[i].phase});
    }
    begin_ns = end_ns;
  }
  if (!marks.empty() && !marks.back().ends_step) {
    std::erase_if(phases,
                  [&](const DevicePhase& phase) { return phase.step == marks.back().step; });
  }
  return phases;
}

}  // namespace ddpprof

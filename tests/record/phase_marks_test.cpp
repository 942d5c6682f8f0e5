#include "profiler/record/phase_marks.h"

#include <random>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// Times of 10 ns from marker to marker, from 0.
std::vector<DevicePhase> phases_of(const PhaseMarks& marks) {
  std::vector<std::int64_t> times_ns;
  for (std::size_t i = 0; i < marks.marks().size(); ++i) {
    times_ns.push_back(static_cast<std::int64_t>(10 * i));
  }
  return to_device_phases(marks.marks(), times_ns, 3);
}

DevicePhase phase(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t step, Phase phase) {
  return {.span = {begin_ns, end_ns}, .device = 3, .step = step, .phase = phase};
}

TEST(PhaseMarks, FollowTheInnermostScope) {
  PhaseMarks marks;
  EXPECT_TRUE(marks.begin_step(4));
  EXPECT_TRUE(marks.push(Phase::backward));
  EXPECT_FALSE(marks.push(Phase::backward)) << "the phase is the same";
  EXPECT_TRUE(marks.push(Phase::grad_reduce));
  EXPECT_TRUE(marks.pop());
  EXPECT_FALSE(marks.pop());
  EXPECT_TRUE(marks.pop());
  EXPECT_TRUE(marks.end_step());
  EXPECT_EQ(phases_of(marks),
            (std::vector{phase(0, 10, 4, Phase::other), phase(10, 20, 4, Phase::backward),
                         phase(20, 30, 4, Phase::grad_reduce), phase(30, 40, 4, Phase::backward),
                         phase(40, 50, 4, Phase::other)}));
}

TEST(PhaseMarks, StepsThatFollowEachOtherShareAMarker) {
  PhaseMarks marks;
  EXPECT_TRUE(marks.begin_step(0));
  EXPECT_TRUE(marks.end_step());
  EXPECT_FALSE(marks.begin_step(1));
  EXPECT_TRUE(marks.end_step());
  EXPECT_TRUE(marks.begin_step(9)) << "it does not follow";
  EXPECT_TRUE(marks.end_step());
  EXPECT_EQ(phases_of(marks),
            (std::vector{phase(0, 10, 0, Phase::other), phase(10, 20, 1, Phase::other),
                         phase(30, 40, 9, Phase::other)}));
}

TEST(PhaseMarks, ChangeReplacesTheInnermostPhaseUntilItsScopeEnds) {
  PhaseMarks marks;
  marks.begin_step(0);
  EXPECT_FALSE(marks.change(Phase::all_reduce)) << "no scope is open";
  marks.push(Phase::backward);
  EXPECT_TRUE(marks.change(Phase::all_reduce));
  EXPECT_TRUE(marks.pop());
  marks.end_step();
  EXPECT_EQ(phases_of(marks),
            (std::vector{phase(0, 10, 0, Phase::other), phase(10, 20, 0, Phase::backward),
                         phase(20, 30, 0, Phase::all_reduce), phase(30, 40, 0, Phase::other)}));
}

TEST(PhaseMarks, NothingIsMarkedOutsideOfSteps) {
  PhaseMarks marks;
  EXPECT_FALSE(marks.push(Phase::data));
  EXPECT_TRUE(marks.begin_step(0));
  EXPECT_EQ(marks.marks().front().phase, Phase::data) << "the scope is still open";
  EXPECT_TRUE(marks.end_step());
  EXPECT_FALSE(marks.pop());
  EXPECT_FALSE(marks.pop()) << "an end too many";
  EXPECT_FALSE(marks.end_step());
}

TEST(PhaseMarks, AStepWithoutAnEndIsLeftOut) {
  PhaseMarks marks;
  marks.begin_step(0);
  marks.end_step();
  marks.begin_step(1);
  marks.push(Phase::forward);
  EXPECT_EQ(phases_of(marks), std::vector{phase(0, 10, 0, Phase::other)});
  marks.clear();
  EXPECT_EQ(phases_of(marks), std::vector<DevicePhase>{});
  marks.begin_step(2);
  EXPECT_EQ(marks.marks().front().phase, Phase::other) << "the open scope is forgotten, too";
  EXPECT_FALSE(marks.pop());
}

TEST(PhaseMarks, DeepScopesKeepThePhase) {
  PhaseMarks marks;
  marks.begin_step(0);
  for (std::size_t i = 0; i < PhaseMarks::kMaxDepth; ++i) marks.push(Phase::forward);
  EXPECT_FALSE(marks.push(Phase::backward));
  EXPECT_FALSE(marks.pop());
  for (std::size_t i = 1; i < PhaseMarks::kMaxDepth; ++i) EXPECT_FALSE(marks.pop());
  EXPECT_TRUE(marks.pop());
}

TEST(PhaseMarks, TimesThatRunBackwardsCountAsEqual) {
  PhaseMarks marks;
  marks.begin_step(0);
  marks.push(Phase::forward);
  marks.pop();
  marks.end_step();
  EXPECT_EQ(to_device_phases(marks.marks(), std::vector<std::int64_t>{5, 20, 18, 30}, 3),
            (std::vector{phase(5, 20, 0, Phase::other), phase(20, 30, 0, Phase::other)}));
}

// Whatever the scopes do, the stretches of a step follow each other and cover it.
TEST(PhaseMarks, StretchesCoverEveryStep) {
  std::mt19937 draw(7);
  PhaseMarks marks;
  std::vector<std::int64_t> times_ns;
  std::vector<Span> steps;
  std::int64_t time_ns = 0;
  const auto at = [&](bool marked) {
    time_ns += 1 + static_cast<std::int64_t>(draw() % 5);
    if (marked) times_ns.push_back(time_ns);
  };
  for (std::int64_t step = 0; step < 200; ++step) {
    at(marks.begin_step(step));
    const std::int64_t begin_ns = times_ns.back();
    for (std::uint32_t i = draw() % 20; i > 0; --i) {
      const auto drawn = static_cast<Phase>(draw() % kPhaseNames.size());
      switch (draw() % 3) {
        case 0:
          at(marks.push(drawn));
          break;
        case 1:
          at(marks.pop());
          break;
        default:
          at(marks.change(drawn));
      }
    }
    at(marks.end_step());
    steps.push_back({begin_ns, times_ns.back()});
  }
  const auto phases = to_device_phases(marks.marks(), times_ns, 0);
  std::size_t next = 0;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::int64_t covered_ns = steps[step].begin_ns;
    for (; next < phases.size() && phases[next].step == static_cast<std::int64_t>(step); ++next) {
      EXPECT_EQ(phases[next].span.begin_ns, covered_ns);
      covered_ns = phases[next].span.end_ns;
    }
    EXPECT_EQ(covered_ns, steps[step].end_ns);
  }
  EXPECT_EQ(next, phases.size());
}

}  // namespace
}  // namespace ddpprof

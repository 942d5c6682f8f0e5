#include "tests/diagnose/program_builder.h"
#include "tests/diagnose/scenario.h"

#include <utility>

namespace ddpprof::test {
namespace {

class Graphs : private ProgramBuilder {
 public:
  explicit Graphs(std::uint32_t seed) : ProgramBuilder(seed) {
    device_ticks = pick(3, 16);
    host_ticks = pick(1, 12);
    arrival_ticks = pick(6, 20);
    unrecorded_percent = chance(30) ? 3 : 0;
    delay_percent = chance(50) ? 5 : 0;
    doubled_percent = chance(50) ? 30 : 0;
    call_percent = 50;
    captures_are_seen_ = chance(80);
    has_optimizer_ = chance(50);
    has_scope_ = chance(70);
    sync_percent_ = chance(50) ? 40 : 0;
    program.first_correlation = 4'294'000'000 - pick(0, 5) * 400'000'000;
    program.shuffle_seed = seed + 1;
    capture();
  }

  Program build() {
    if (chance(30)) launch_before_recording();
    const std::int64_t steps_count = pick(3, 6);
    for (step_ = 0; step_ < steps_count; ++step_) {
      may_lose_records = step_ > 0 && step_ + 1 < steps_count;
      add_step();
    }
    return std::move(program);
  }

 private:
  // The graph that all steps launch.
  void capture() {
    capture(Phase::forward, pick(3, 8));
    capture(Phase::loss, pick(1, 2));
    capture(Phase::backward, pick(3, 8));
    for (std::int64_t bucket = pick(0, 2); bucket > 0; --bucket) {
      GraphPart part{.captured = known(Phase::backward),
                     .stream = kCommunicationStream,
                     .activity = Activity::communication,
                     .run_ticks = pick(2, 20),
                     .follows = true};
      part.meeting =
          Meeting{.gradient = true, .bucket = static_cast<std::int32_t>(bucket), .root = {}};
      graph_.push_back(part);
      capture(Phase::backward, pick(1, 4));
    }
    if (has_optimizer_) capture(Phase::optimizer, pick(1, 3));
  }

  void capture(Phase phase, std::int64_t count) {
    for (; count > 0; --count) {
      const bool is_beside = chance(10);
      graph_.push_back({.captured = known(phase),
                        .stream = is_beside ? kSideStream : kMainStream,
                        .activity = chance(15) ? Activity::copy : Activity::compute,
                        .run_ticks = pick(1, is_beside ? 3 : device_ticks),
                        .follows = chance(50)});
    }
  }

  Phase known(Phase phase) const { return captures_are_seen_ ? phase : Phase::graph; }

  void add_step() {
    to_main({.kind = ActionKind::begin_step});
    enter(0, Phase::data);
    to_main({.kind = ActionKind::work, .ticks = chance(15) ? pick(30, 120) : pick(1, 6)});
    launch(0, {.activity = Activity::copy, .blocks = chance(15)});
    leave(0);
    if (has_scope_) enter(0, Phase::forward);
    launch_graph();
    if (has_scope_) leave(0);
    if (!has_optimizer_ || chance(20)) {
      enter(0, Phase::optimizer);
      for (std::int64_t count = pick(1, 4); count > 0; --count) {
        if (chance(50)) idle(0);
        launch(0, {});
      }
      leave(0);
    }
    if (chance(sync_percent_)) {
      to_main({.kind = chance(50) ? ActionKind::synchronize_stream : ActionKind::synchronize});
    }
    if (chance(30)) idle(0);
    to_main({.kind = ActionKind::end_step});
  }

  void launch_graph() {
    std::vector<GraphPart> parts = graph_;
    for (GraphPart& part : parts) {
      if (part.stream == kMainStream) part.run_ticks += pick(0, 2);
      if (part.meeting) part.meeting->sequence = ++sequence_;
    }
    launch(0, {.run_ticks = 1, .parts = std::move(parts)});
  }

  std::vector<GraphPart> graph_;
  std::int64_t step_ = 0, sequence_ = 0, sync_percent_ = 0;
  bool captures_are_seen_ = true, has_optimizer_ = false, has_scope_ = true;
};

}  // namespace

Program make_graph_scenario(std::uint32_t seed) { return Graphs(seed).build(); }

}  // namespace ddpprof::test

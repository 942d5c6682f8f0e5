#include "tests/diagnose/scenario.h"

#include "tests/diagnose/program_builder.h"

#include <utility>

namespace ddpprof::test {
namespace {

class Scenario : private ProgramBuilder {
 public:
  explicit Scenario(std::uint32_t seed) : ProgramBuilder(seed) {
    program.devices_count = chance(50) ? 2 : 1;
    device_ticks = pick(2, 24);
    host_ticks = pick(1, 12);
    sync_percent_ = chance(50) ? 60 : 5;
    unrecorded_percent = chance(50) ? 3 : 0;
  }

  Program build() {
    const std::int64_t steps_count = pick(3, 5);
    for (std::int64_t step = 0; step < steps_count; ++step) {
      // The edges of the recording have rules of their own, which are tested as pictures.
      may_lose_records = step > 0 && step + 1 < steps_count;
      add_step();
    }
    return std::move(program);
  }

 private:
  void add_step() {
    to_main({.kind = ActionKind::begin_step});
    data();
    if (program.devices_count > 1) replicate();
    forward();
    loss();
    backward();
    optimizer();
    if (chance(30)) idle(0);
    to_main({.kind = ActionKind::end_step});
  }

  void data() {
    enter(0, Phase::data);
    to_main({.kind = ActionKind::work, .ticks = chance(20) ? pick(50, 150) : pick(1, 10)});
    launch(0, {.stream = kCopyStream, .activity = Activity::copy});
    leave(0);
    if (chance(70)) wait(0, 0, kMainStream, kCopyStream);
  }

  void replicate() {
    enter(0, Phase::scatter);
    launch(0, {.device = 1, .stream = kCopyStream, .activity = Activity::copy});
    leave(0);
    wait(0, 1, kMainStream, kCopyStream);
    enter(0, Phase::replicate);
    for (std::int64_t i = pick(2, 6); i > 0; --i) {
      launch(0, {.device = 1, .stream = kCommunicationStream, .activity = Activity::communication});
      idle(0);
    }
    leave(0);
    if (chance(80)) wait(0, 1, kMainStream, kCommunicationStream);
  }

  void forward() {
    enter(0, Phase::forward);
    if (program.devices_count == 1) {
      kernels(0, 0, pick(3, 10));
    } else {
      const std::size_t first = add_thread("replica 0", 0);
      const std::size_t second = add_thread("replica 1", 1);
      for (const std::size_t thread : {first, second}) {
        to_main({.kind = ActionKind::start_thread, .thread = thread});
        idle(thread);  // before its scope: nobody's phase but main's
        enter(thread, Phase::forward);
        kernels(thread, thread == first ? 0 : 1, pick(3, 10));
        leave(thread);
      }
      to_main({.kind = ActionKind::join_thread, .thread = first});
      to_main({.kind = ActionKind::join_thread, .thread = second});
    }
    leave(0);
  }

  void loss() {
    if (program.devices_count > 1) {
      enter(0, Phase::gather);
      launch(0, {.device = 0, .stream = kCommunicationStream, .activity = Activity::communication});
      leave(0);
      wait(0, 0, kMainStream, kCommunicationStream);
    }
    enter(0, Phase::loss);
    kernels(0, 0, pick(1, 3));
    maybe_synchronize(0);
    leave(0);
  }

  void backward() {
    enter(0, Phase::backward);
    const std::size_t autograd = add_thread("autograd");
    to_main({.kind = ActionKind::start_thread, .thread = autograd});
    for (std::int64_t bucket = pick(1, 3); bucket > 0; --bucket) {
      for (std::int32_t device = 0; device < program.devices_count; ++device) {
        kernels(autograd, device, pick(2, 6));
      }
      if (chance(50)) {
        enter(autograd, Phase::bucket_copy);
        launch(autograd, {.device = 0});
        leave(autograd);
      }
      wait(autograd, 0, kCommunicationStream, kMainStream);
      enter(autograd, program.devices_count > 1 ? Phase::grad_reduce : Phase::all_reduce);
      launch(autograd, {.device = 0,
                        .stream = kCommunicationStream,
                        .activity = Activity::communication,
                        .run_ticks = pick(2, 40)});
      leave(autograd);
    }
    to_main({.kind = ActionKind::join_thread, .thread = autograd});
    leave(0);
    wait(0, 0, kMainStream, kCommunicationStream);
  }

  void optimizer() {
    enter(0, Phase::optimizer);
    kernels(0, 0, pick(1, 5));
    maybe_synchronize(0);
    leave(0);
  }

  // Kernels on the main stream, now and then a short one on the side.
  void kernels(std::size_t thread, std::int32_t device, std::int64_t count) {
    for (; count > 0; --count) {
      if (chance(60)) idle(thread);
      launch(thread, {.device = device});
      if (chance(10)) {
        launch(thread, {.device = device, .stream = kSideStream, .run_ticks = pick(1, 3)});
      }
      if (chance(4)) {
        add(thread, {.kind = ActionKind::synchronize, .device = device});
      }
    }
  }

  void maybe_synchronize(std::size_t thread) {
    if (chance(sync_percent_)) add(thread, {.kind = ActionKind::synchronize, .device = 0});
  }

  std::int64_t sync_percent_ = 0;
};

}  // namespace

Program make_scenario(std::uint32_t seed) { return Scenario(seed).build(); }

}  // namespace ddpprof::test

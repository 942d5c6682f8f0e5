#include "tests/diagnose/program_builder.h"
#include "tests/diagnose/scenario.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace ddpprof::test {
namespace {

constexpr std::int32_t kDevices = 2;

// Signals.
constexpr std::size_t kGo = 0, kGoOther = 1, kDoneOther = 2, kDone = 3;

class DataParallel : private ProgramBuilder {
 public:
  explicit DataParallel(std::uint32_t seed) : ProgramBuilder(seed) {
    program.devices_count = kDevices;
    const bool is_device_bound = chance(30);
    device_ticks = is_device_bound ? 40 : pick(3, 20);
    host_ticks = is_device_bound ? 1 : pick(1, 8);
    sync_percent_ = !is_device_bound && chance(60) ? 50 : 0;
    unrecorded_percent = chance(50) ? 3 : 0;
    delay_percent = chance(30) ? 3 : 0;
    doubled_percent = chance(50) ? 30 : 0;
    call_percent = 50;
    copies_peers_ = chance(50);
    program.first_correlation = 4'294'000'000 - pick(0, 5) * 400'000'000;
    program.shuffle_seed = seed + 1;
    for (std::size_t d = 0; d < autograd_.size(); ++d) {
      autograd_[d] = add_thread("autograd " + std::to_string(d));
    }
  }

  Program build() {
    for (const std::size_t thread : autograd_) {
      to_main({.kind = ActionKind::start_thread, .thread = thread});
    }
    const std::int64_t steps_count = pick(3, 5);
    for (step_ = 0; step_ < steps_count; ++step_) {
      may_lose_records = step_ > 0 && step_ + 1 < steps_count;
      add_step();
    }
    return std::move(program);
  }

 private:
  void add_step() {
    to_main({.kind = ActionKind::begin_step});
    enter(0, Phase::data);
    to_main({.kind = ActionKind::work, .ticks = chance(15) ? pick(30, 120) : pick(1, 6)});
    leave(0);
    scatter();
    replicate();
    forward();
    gather();
    enter(0, Phase::loss);
    kernels(0, 0, pick(1, 2));
    if (chance(sync_percent_)) {
      launch(0, {.activity = Activity::copy, .run_ticks = 1, .blocks = true});
      kernels(0, 0, 1);
    }
    leave(0);
    enter(0, Phase::backward);
    signal(0, kGo);
    backward();
    await(0, kDone);
    leave(0);
    optimizer();
    to_main({.kind = ActionKind::end_step});
  }

  void scatter() {
    enter(0, Phase::scatter);
    for (std::int32_t device = 0; device < kDevices; ++device) {
      launch(0, {.device = device,
                 .stream = kCopyStream,
                 .activity = Activity::copy,
                 .blocks = chance(sync_percent_ / 2)});
    }
    leave(0);
    for (std::int32_t device = 0; device < kDevices; ++device) {
      wait(0, device, kMainStream, kCopyStream);
    }
  }

  void replicate() {
    enter(0, Phase::replicate);
    for (std::int64_t i = pick(1, 4); i > 0; --i) {
      if (chance(50)) idle(0);
      collective(0, CollectiveKind::broadcast);
    }
    leave(0);
  }

  void forward() {
    enter(0, Phase::forward);
    std::array<std::size_t, kDevices> replicas{};
    for (std::int32_t r = 0; r < kDevices; ++r) {
      const std::size_t thread = add_thread("replica " + std::to_string(r), r);
      // The system gives the ids of threads that ended to new ones, in any order.
      program.threads[thread].thread.system_id = 500 + (r + step_) % kDevices;
      replicas[static_cast<std::size_t>(r)] = thread;
      to_main({.kind = ActionKind::start_thread, .thread = thread});
      idle(thread);
      if (chance(20)) launch(thread, {.device = r});  // before its scope: main's phase
      enter(thread, Phase::forward);
      kernels(thread, r, pick(3, 8));
      leave(thread);
    }
    for (const std::size_t thread : replicas) {
      to_main({.kind = ActionKind::join_thread, .thread = thread});
    }
    leave(0);
  }

  void gather() {
    enter(0, Phase::gather);
    peer_copy(0, 1);
    if (chance(50)) peer_copy(0, 0);
    leave(0);
  }

  // From device 1 to device 0, seen on one of them; both main streams wait.
  void peer_copy(std::size_t thread, std::int32_t device) {
    for (std::int32_t d = 0; d < kDevices; ++d) wait_devices(thread, device, d);
    launch(thread, {.device = device, .activity = Activity::communication});
    wait_devices(thread, 1 - device, device);
  }

  // The main stream of `device` for that of `other`.
  void wait_devices(std::size_t thread, std::int32_t device, std::int32_t other) {
    if (device == other) return;
    add(thread, {.kind = ActionKind::wait_stream,
                 .ticks = 1,
                 .device = device,
                 .stream = kMainStream,
                 .other_stream = kMainStream,
                 .other_device = other,
                 .has_call = chance(30)});
  }

  // Each device's part on that device's own thread.
  void backward() {
    await(autograd_[0], kGo);
    kernels(autograd_[0], 0, pick(1, 3));
    signal(autograd_[0], kGoOther);
    await(autograd_[1], kGoOther);
    kernels(autograd_[0], 0, pick(2, 6));
    kernels(autograd_[1], 1, pick(2, 6));
    signal(autograd_[1], kDoneOther);
    await(autograd_[0], kDoneOther);
    enter(autograd_[0], Phase::grad_reduce);
    for (std::int64_t i = pick(1, 3); i > 0; --i) {
      if (copies_peers_) {
        peer_copy(autograd_[0], 1);
        launch(autograd_[0], {.device = 0});
      } else {
        collective(autograd_[0], CollectiveKind::reduce);
      }
    }
    leave(autograd_[0]);
    signal(autograd_[0], kDone);
  }

  // On all devices, from one thread.
  void collective(std::size_t thread, CollectiveKind kind) {
    const std::int64_t sequence = ++sequence_;
    for (std::int32_t device = 0; device < kDevices; ++device) {
      wait(thread, device, kCommunicationStream, kMainStream);
      launch(thread, {.device = device,
                      .stream = kCommunicationStream,
                      .activity = Activity::communication,
                      .meeting = Meeting{.kind = kind,
                                         .sequence = sequence,
                                         .members = kDevices,
                                         .bucket = {},
                                         .root = 0,
                                         .is_root = device == 0}});
    }
    for (std::int32_t device = 0; device < kDevices; ++device) {
      wait(thread, device, kMainStream, kCommunicationStream);
    }
  }

  void optimizer() {
    enter(0, Phase::optimizer);
    kernels(0, 0, pick(1, 4));
    if (chance(sync_percent_)) {
      to_main({.kind = chance(50) ? ActionKind::synchronize_stream : ActionKind::synchronize,
               .device = chance(50) ? 0 : 1});
    }
    leave(0);
  }

  void kernels(std::size_t thread, std::int32_t device, std::int64_t count) {
    for (; count > 0; --count) {
      if (chance(50)) idle(thread);
      if (chance(10)) add(thread, {.kind = ActionKind::call, .ticks = pick(1, 2)});
      launch(thread, {.device = device});
      if (chance(8)) {
        launch(thread, {.device = device, .stream = kSideStream, .run_ticks = pick(1, 3)});
      }
    }
  }

  std::array<std::size_t, kDevices> autograd_{};
  std::int64_t step_ = 0, sequence_ = 0, sync_percent_ = 0;
  bool copies_peers_ = false;
};

}  // namespace

Program make_dp_scenario(std::uint32_t seed) { return DataParallel(seed).build(); }

}  // namespace ddpprof::test

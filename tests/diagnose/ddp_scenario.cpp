#include "tests/diagnose/program_builder.h"
#include "tests/diagnose/scenario.h"

#include <random>
#include <utility>

namespace ddpprof::test {
namespace {

// What the ranks of a job have in common.
struct Job {
  std::int64_t steps_count = 0;
  std::int64_t buckets_count = 0;
  std::int64_t all_reduce_ticks = 0;
  bool broadcasts_buffers = false;
};

constexpr std::size_t kGo = 0, kDone = 1;                // signals between main and autograd
constexpr std::size_t kStepEvents = 0, kCopyEvent = 99;  // events: one a step, and one

class Rank : private ProgramBuilder {
 public:
  Rank(std::uint32_t seed, const Job& job, std::int32_t rank)
      : ProgramBuilder(seed), job_(job), rank_(rank) {
    device_ticks = pick(3, 20);
    host_ticks = pick(1, 8);
    sync_percent_ = chance(40) ? 60 : 0;
    unrecorded_percent = chance(50) ? 3 : 0;
    delay_percent = chance(30) ? 3 : 0;
    doubled_percent = chance(50) ? 30 : 0;
    call_percent = 50;
    program.first_correlation = 4'294'000'000 - pick(0, 5) * 400'000'000;
    program.shuffle_seed = seed + 1;
    autograd_ = add_thread("autograd");
    idler_ = add_thread("pin memory");
    prefetcher_ = add_thread("prefetcher");
  }

  Program build() {
    to_main({.kind = ActionKind::start_thread, .thread = autograd_});
    to_main({.kind = ActionKind::start_thread, .thread = idler_});
    begins_busy_ = chance(30);
    if (begins_busy_) launch_before_recording();
    if (!begins_busy_ && chance(40)) prefetch();
    for (step_ = 0; step_ < job_.steps_count; ++step_) {
      may_lose_records = step_ > 0 && step_ + 1 < job_.steps_count;
      add_step();
      idle_calls();
    }
    return std::move(program);
  }

 private:
  void add_step() {
    to_main({.kind = ActionKind::begin_step});
    data();
    launch(0, {.activity = Activity::copy, .run_ticks = 1});  // zeroes gradients, in no scope
    forward();
    loss();
    enter(0, Phase::backward);
    signal(0, kGo);
    backward();
    await(0, kDone);
    leave(0);
    optimizer();
    to_main({.kind = ActionKind::end_step});
  }

  void data() {
    enter(0, Phase::data);
    to_main({.kind = ActionKind::work, .ticks = chance(15) ? pick(30, 120) : pick(1, 6)});
    const bool is_prefetched = chance(50) && !(begins_busy_ && step_ == 0);
    launch(0, {.stream = is_prefetched ? kCopyStream : kMainStream,
               .activity = Activity::copy,
               .blocks = chance(20)});
    to_main({.kind = ActionKind::record_event,
             .ticks = 1,
             .stream = is_prefetched ? kCopyStream : kMainStream,
             .has_call = chance(50),
             .event = kCopyEvent});
    leave(0);
    if (is_prefetched) wait(0, 0, kMainStream, kCopyStream);
  }

  void forward() {
    enter(0, Phase::forward);
    if (job_.broadcasts_buffers) {
      launch(0, {.stream = kCommunicationStream,
                 .activity = Activity::communication,
                 .meeting = Meeting{.kind = CollectiveKind::broadcast,
                                    .sequence = step_ * 100,
                                    .members = 2,
                                    .bucket = {},
                                    .root = 0,
                                    .is_root = rank_ == 0}});
      wait(0, 0, kMainStream, kCommunicationStream);
    }
    kernels(0, pick(2, 6));
    if (chance(30)) {
      enter(0, Phase::other);
      kernels(0, pick(1, 2));
      leave(0);
      kernels(0, 1);
    }
    leave(0);
  }

  void loss() {
    enter(0, Phase::loss);
    kernels(0, pick(1, 2));
    if (chance(sync_percent_ / 2)) {
      launch(0, {.activity = Activity::copy, .run_ticks = 1, .blocks = true});  // loss.item()
    }
    leave(0);
  }

  // All of it on autograd's thread.
  void backward() {
    await(autograd_, kGo);
    for (std::int64_t bucket = 0; bucket < job_.buckets_count; ++bucket) {
      kernels(autograd_, pick(2, 6));
      copy_buckets(pick(1, 3));
      const bool is_inside = chance(30);  // its collective says what it is, whatever the scope
      if (is_inside) enter(autograd_, Phase::bucket_copy);
      wait(autograd_, 0, kCommunicationStream, kMainStream);
      all_reduce(static_cast<std::int32_t>(bucket));
      if (is_inside) leave(autograd_);
    }
    if (chance(50)) kernels(autograd_, 2);
    wait(autograd_, 0, kMainStream, kCommunicationStream);
    copy_buckets(pick(1, 3));
    signal(autograd_, kDone);
  }

  void all_reduce(std::int32_t bucket) {
    launch(autograd_, {.stream = kCommunicationStream,
                       .activity = Activity::communication,
                       .run_ticks = job_.all_reduce_ticks,
                       .meeting = Meeting{.kind = CollectiveKind::all_reduce,
                                          .sequence = step_ * 100 + 1 + bucket,
                                          .members = 2,
                                          .gradient = true,
                                          .bucket = bucket,
                                          .root = {},
                                          .is_root = false}});
  }

  void copy_buckets(std::int64_t count) {
    enter(autograd_, Phase::bucket_copy);
    for (; count > 0; --count) {
      launch(autograd_, {.activity = chance(50) ? Activity::compute : Activity::copy,
                         .run_ticks = pick(1, 3)});
    }
    leave(autograd_);
  }

  void optimizer() {
    enter(0, Phase::optimizer);
    kernels(0, pick(1, 4));
    if (chance(sync_percent_)) {
      to_main({.kind = chance(50) ? ActionKind::synchronize_stream : ActionKind::synchronize});
    }
    leave(0);
    to_main(
        {.kind = ActionKind::record_event, .event = kStepEvents + static_cast<std::size_t>(step_)});
    // Some loops let the host run ahead by two steps and no more.
    if (step_ >= 2 && sync_percent_ == 0 && chance(30)) {
      to_main({.kind = ActionKind::synchronize_event,
               .event = kStepEvents + static_cast<std::size_t>(step_ - 2)});
    }
  }

  void kernels(std::size_t thread, std::int64_t count) {
    for (; count > 0; --count) {
      if (chance(50)) idle(thread);
      if (chance(10)) add(thread, {.kind = ActionKind::call, .ticks = pick(1, 2)});
      launch(thread, {});
      if (chance(8)) launch(thread, {.stream = kSideStream, .run_ticks = pick(1, 3)});
    }
  }

  // A thread that copies batches ahead, in whatever phase the process is.
  void prefetch() {
    to_main({.kind = ActionKind::start_thread, .thread = prefetcher_});
    for (std::int64_t count = pick(5, 15); count > 0; --count) {
      add(prefetcher_, {.kind = ActionKind::work, .ticks = pick(5, 40)});
      launch(prefetcher_, {.stream = kCopyStream, .activity = Activity::copy});
    }
  }

  // A thread that launches nothing, in scopes that are nobody's.
  void idle_calls() {
    enter(idler_, Phase::data);
    add(idler_, {.kind = ActionKind::work, .ticks = pick(5, 40)});
    add(idler_, {.kind = ActionKind::synchronize_event, .event = kCopyEvent});
    add(idler_, {.kind = ActionKind::call, .ticks = pick(1, 3)});
    leave(idler_);
  }

  Job job_;
  std::int32_t rank_;
  std::int64_t step_ = 0, sync_percent_ = 0;
  bool begins_busy_ = false;
  std::size_t autograd_ = 0, idler_ = 0, prefetcher_ = 0;
};

}  // namespace

std::vector<Program> make_ddp_scenario(std::uint32_t seed) {
  ProgramBuilder dice(seed);
  const Job job{.steps_count = dice.pick(3, 5),
                .buckets_count = dice.pick(1, 4),
                .all_reduce_ticks = dice.pick(3, 30),
                .broadcasts_buffers = dice.chance(30)};
  return {Rank(seed * 2 + 1, job, 0).build(), Rank(seed * 2 + 2, job, 1).build()};
}

}  // namespace ddpprof::test

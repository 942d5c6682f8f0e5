#include "profiler/record/recorder.h"

#include "profiler/record/clocks.h"
#include "profiler/record/live_recorders.h"
#include "profiler/record/recorder_log.h"
#include "profiler/record/thread_names.h"

#include <algorithm>
#include <new>

#include <fmt/core.h>

namespace ddpprof {
namespace {

// Made ready by start(), outside of steps, so that steps find it.
constexpr std::size_t kThreadsAhead = 8;
constexpr std::uint32_t kCollectivesAhead = 4096;
constexpr std::size_t kStepsAhead = 4096;

constexpr std::size_t kNameCapacity = 64;

// What the calling thread knows of itself. Plain data without constructor or destructor: reading
// it costs no check.
struct ThreadState {
  std::uint64_t recorder;  // whose log it is; 0: none
  ThreadLog* log;
  std::uint64_t entered_recorder;  // whose enter_thread() was called; 0: none
  std::int32_t enter_depth;
  std::int64_t entered_ns;
  std::array<char, kNameCapacity> name;
  std::size_t name_size;
  std::int32_t replica;
  bool has_replica;
  bool is_main;
};
constinit thread_local ThreadState this_thread = {};

// Gives the log back when a thread ends that never called leave_thread().
struct ThreadExit {
  ThreadExit() = default;
  ThreadExit(const ThreadExit&) = delete;
  ThreadExit& operator=(const ThreadExit&) = delete;
  ~ThreadExit() {
    if (this_thread.log != nullptr) detach_if_alive(this_thread.recorder, *this_thread.log);
    this_thread.log = nullptr;
    this_thread.recorder = 0;
  }
};

std::optional<std::int32_t> replica_of_this_thread(std::uint64_t recorder) noexcept {
  const ThreadState& state = this_thread;
  if (state.entered_recorder != recorder || !state.has_replica) return std::nullopt;
  return state.replica;
}

std::uint64_t next_recorder_id() noexcept {
  static std::atomic<std::uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

void reserve_steps(std::vector<Step>& steps) noexcept {
  try {
    steps.reserve(steps.size() + kStepsAhead);
  } catch (const std::bad_alloc&) {
    return;  // end_step() tries again, and counts what is lost
  }
}

Thread describe_this_thread(std::uint64_t recorder) {
  const ThreadState& state = this_thread;
  if (state.entered_recorder != recorder) {
    return {.system_id = this_thread_id(),
            .life = {now_ns(), 0},
            .name = fmt::format("thread {}", this_thread_id()),
            .is_main = false,
            .replica = std::nullopt};
  }
  return {.system_id = this_thread_id(),
          .life = {state.entered_ns, 0},
          .name = std::string(state.name.data(), state.name_size),
          .is_main = state.is_main,
          .replica = state.has_replica ? std::optional(state.replica) : std::nullopt};
}

}  // namespace

Recorder::Log::Log(Options log_options, std::unique_ptr<DeviceSource> device_source)
    : id(next_recorder_id()),
      options(log_options),
      source(std::move(device_source)),
      clock_begin(read_clock_pair()),
      threads(log_options.cpu_time) {
  state = idle_flags();
  add_live_recorder(id, threads);
}

Recorder::Log::~Log() { remove_live_recorder(id); }

ThreadLog* Recorder::Log::known_thread_log() const noexcept {
  return this_thread.recorder == id ? this_thread.log : nullptr;
}

ThreadLog* Recorder::Log::attach(const Thread& thread) noexcept {
  static thread_local ThreadExit exit;
  if (this_thread.log != nullptr) detach_if_alive(this_thread.recorder, *this_thread.log);
  this_thread.log = threads.attach(thread);
  this_thread.recorder = this_thread.log == nullptr ? 0 : id;
  return this_thread.log;
}

ThreadLog* Recorder::Log::thread_log() noexcept {
  if (ThreadLog* const log = known_thread_log()) return log;
  try {
    return attach(describe_this_thread(id));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Recorder::Recorder(Options options, std::unique_ptr<DeviceSource> source)
    : log_(std::make_unique<Log>(options, std::move(source))) {}

Recorder::~Recorder() = default;

bool Recorder::is_on() const noexcept {
  return (log_->state.load(std::memory_order_relaxed) & Log::kOn) != 0;
}

bool Recorder::hears_scopes() const noexcept {
  return (log_->state.load(std::memory_order_relaxed) & (Log::kOn | Log::kAnnotates)) != 0;
}

bool Recorder::sees_work() const noexcept { return log_->source && log_->source->sees_work(); }

void Recorder::start(std::int32_t visit) noexcept {
  if (is_on()) return;
  log_->threads.reserve(kThreadsAhead);
  log_->collectives.reserve(kCollectivesAhead);
  reserve_steps(log_->steps);
  log_->visit = visit;
  log_->open_step.reset();
  if (this_thread.entered_recorder == log_->id && log_->thread_log() == nullptr) log_->drop();
  if (log_->source) log_->source->start();
  const std::uint64_t epoch = Log::epoch_of(log_->state.load(std::memory_order_relaxed)) + 1;
  log_->state.store(epoch * Log::kEpoch | log_->idle_flags() | Log::kOn, std::memory_order_relaxed);
}

void Recorder::stop() noexcept {
  if (!is_on()) return;
  const std::uint64_t state = log_->state.load(std::memory_order_relaxed);
  log_->state.store(Log::epoch_of(state) * Log::kEpoch | log_->idle_flags(),
                    std::memory_order_relaxed);
  if (log_->open_step) log_->drop();
  log_->open_step.reset();
  log_->drop(log_->threads.open_in_step_count(Log::epoch_of(state)));
  if (log_->source) log_->source->stop();
}

void Recorder::begin_step(std::int64_t index) noexcept {
  const std::uint64_t state = log_->state.load(std::memory_order_relaxed);
  if ((state & (Log::kOn | Log::kAnnotates)) == 0) return;
  if (log_->source) log_->source->begin_step(index, (state & Log::kOn) != 0);
  if ((state & Log::kOn) == 0) return;
  if (log_->open_step) log_->drop();
  // Whoever counts the steps is the main thread, also when nobody said so.
  if (this_thread.entered_recorder != log_->id) enter_thread("main", true, std::nullopt);
  if (log_->thread_log() == nullptr) log_->drop();
  std::int64_t begin_ns = now_ns();
  // Steps of one visit leave no gap: what is done between two of them belongs to the second.
  if (!log_->steps.empty() && log_->last_step_epoch == Log::epoch_of(state) &&
      log_->steps.back().index + 1 == index) {
    begin_ns = log_->steps.back().span.end_ns;
  }
  log_->open_step = Step{.index = index, .visit = log_->visit, .span = {begin_ns, begin_ns}};
  log_->dropped_before_step = log_->dropped_count.load(std::memory_order_relaxed);
  log_->state.store(state | Log::kInStep, std::memory_order_relaxed);
}

void Recorder::end_step() noexcept {
  const std::uint64_t state = log_->state.load(std::memory_order_relaxed);
  if ((state & (Log::kOn | Log::kAnnotates)) == 0) return;
  if (log_->source) log_->source->end_step();
  if ((state & Log::kOn) == 0 || !log_->open_step) return;
  log_->state.store(state & ~Log::kInStep, std::memory_order_relaxed);
  log_->open_step->span.end_ns = now_ns();
  log_->open_step->has_losses =
      log_->dropped_count.load(std::memory_order_relaxed) != log_->dropped_before_step;
  try {
    log_->steps.push_back(*log_->open_step);
    log_->last_step_epoch = Log::epoch_of(state);
  } catch (const std::bad_alloc&) {
    log_->drop();
  }
  log_->open_step.reset();
}

void Recorder::begin_scope(Phase phase, std::string_view name, ScopeOptions options) noexcept {
  const std::uint64_t state = log_->state.load(std::memory_order_relaxed);
  if ((state & (Log::kOn | Log::kAnnotates)) == 0) return;
  if (log_->source) {
    const std::uint64_t recorded = Log::kOn | Log::kInStep;
    log_->source->begin_scope(
        {.phase = phase,
         .name = name,
         .replica = options.replica ? options.replica : replica_of_this_thread(log_->id),
         .recorded = (state & recorded) == recorded,
         .brief = options.brief});
  }
  if ((state & Log::kOn) == 0) return;
  ThreadLog* const log = log_->thread_log();
  if (log == nullptr) return log_->drop();
  log_->drop(log->begin(Log::epoch_of(state), (state & Log::kInStep) != 0,
                        {phase, name, options.computes, options.replica}));
}

void Recorder::end_scope() noexcept {
  const std::uint64_t state = log_->state.load(std::memory_order_relaxed);
  if ((state & (Log::kOn | Log::kAnnotates)) == 0) return;
  if (log_->source) log_->source->end_scope();
  if ((state & Log::kOn) == 0) return;
  if (ThreadLog* const log = log_->known_thread_log()) log_->drop(log->end(Log::epoch_of(state)));
}

void Recorder::end_compute() noexcept {
  const std::uint64_t state = log_->state.load(std::memory_order_relaxed);
  if ((state & Log::kOn) == 0) return;
  if (ThreadLog* const log = log_->known_thread_log()) log->end_compute(Log::epoch_of(state));
}

void Recorder::change_phase(Phase phase) noexcept {
  if (is_on() && log_->source) log_->source->change_phase(phase);
}

void Recorder::count(Counter counter, std::int64_t n) noexcept {
  if (!is_on()) return;
  log_->counters[static_cast<std::size_t>(counter)].fetch_add(n, std::memory_order_relaxed);
}

CollectiveHandle Recorder::begin_collective(const CollectiveStart& start) noexcept {
  if (!is_on()) return {};
  if (start.needs_work && !sees_work()) return {};
  const CollectiveHandle handle = log_->collectives.begin(start);
  if (handle.index == CollectiveHandle{}.index) {
    log_->drop();
  } else if (log_->source) {
    log_->source->begin_collective(handle.index, start.device);
  }
  return handle;
}

void Recorder::end_launch(CollectiveHandle handle) noexcept {
  if (handle.index != CollectiveHandle{}.index && log_->source) {
    log_->source->end_launch(handle.index);
  }
}

void Recorder::end_collective(CollectiveHandle handle, void* stream) noexcept {
  // Also while off: what a step began may end after it.
  if (handle.index == CollectiveHandle{}.index) return;
  if (log_->source) log_->source->end_collective(handle.index, stream);
  log_->collectives.end(handle);
}

void Recorder::enter_thread(std::string_view name, bool is_main,
                            std::optional<std::int32_t> replica) noexcept {
  ThreadState& state = this_thread;
  if (state.entered_recorder == log_->id) {
    ++state.enter_depth;
    return;
  }
  state.entered_recorder = log_->id;
  state.enter_depth = 1;
  state.entered_ns = now_ns();
  state.name_size = std::min(name.size(), kNameCapacity);
  std::ranges::copy(name.substr(0, state.name_size), state.name.begin());
  state.is_main = is_main;
  state.has_replica = replica.has_value();
  state.replica = replica.value_or(0);
  try {
    if (ThreadLog* const log = log_->known_thread_log()) {
      // Known so far under a number only.
      log_->threads.describe(*log, describe_this_thread(log_->id));
    } else if (is_on()) {
      // While off, a thread costs no log until it has something to write.
      if (log_->attach(describe_this_thread(log_->id)) == nullptr) log_->drop();
    }
  } catch (const std::bad_alloc&) {
    log_->drop();
  }
}

void Recorder::leave_thread() noexcept {
  ThreadState& state = this_thread;
  if (state.entered_recorder != log_->id || --state.enter_depth > 0) return;
  state.entered_recorder = 0;
  ThreadLog* const log = log_->known_thread_log();
  if (log == nullptr) return;
  // Scopes that were open when recording stopped have been counted by stop().
  const std::uint64_t word = log_->state.load(std::memory_order_relaxed);
  log_->drop(log_->threads.detach(*log, (word & Log::kOn) != 0 ? Log::epoch_of(word) : 0));
  state.log = nullptr;
  state.recorder = 0;
}

}  // namespace ddpprof

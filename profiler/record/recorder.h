// The recorder that lives inside a training process: steps, phase scopes and collectives, kept in
// memory as plain records; nothing is formatted or sent while a step runs. A device source may
// lock.
//
// Use: one Recorder a process, made by the trainer's main and passed by reference. The training
// loop calls start() and stop() between steps. While it is off, every call below is one branch
// (entering a thread also notes its name); with a device source that annotates, as the one with
// CUPTI, steps and scopes are passed on to it. What a call costs: README.md.
#pragma once

#include "profiler/record/device_source.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace ddpprof {

// What the training loop counts; the names are the keys of `counts` in report.json.
enum class Counter : std::uint8_t {
  replicate,
  scatter,  // tensors
  forward,
  gather,
  backward,
  all_reduce,
  broadcast,
  optimizer,
};

// Handle of a collective under way. A default one stands for "not recorded".
struct CollectiveHandle {
  std::uint32_t index = UINT32_MAX;
};

struct CollectiveStart {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string_view communicator = {};  // copied; at most 64 different ones
  std::int64_t sequence = 0;
  std::int64_t bytes = 0;
  std::optional<ElementType> element_type = {};
  bool gradient = false;
  std::optional<std::int32_t> bucket = {};
  std::optional<std::int32_t> root = {};  // rooted collectives
  std::int32_t device = 0;
  // Recorded only where the device source sees the work that carries it.
  bool needs_work = false;
};

struct ScopeOptions {
  bool computes = false;  // see Scope::computes
  // Too short to be worth two events on a device: devices timed by events stay in the phase around
  // it.
  bool brief = false;
  std::optional<std::int32_t> replica = {};
};

class Recorder {
 public:
  // `service_threads`: how many collectives of one communicator make progress at the same time
  // (gloo's worker threads); the rest wait in order. Needed to tell queued from in flight where
  // the library does not report it. 0: collectives report their own start.
  // `cpu_time`: keep CPU time with scopes (see Scope::cpu_ns).
  struct Options {
    bool cpu_time = false;
    int service_threads = 0;
  };
  Recorder(Options options, std::unique_ptr<DeviceSource> source);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Threads: the training loop's, outside of steps.
  void start(std::int32_t visit) noexcept;
  void stop() noexcept;
  bool is_on() const noexcept;
  // Whether anybody hears of scopes: while on, and always with a source that annotates.
  bool hears_scopes() const noexcept;
  // Whether a device source sees the work that carries collectives: then end_collective() has no
  // use for a stream.
  bool sees_work() const noexcept;

  // Threads: the training loop's. It becomes the main thread when none has entered as such.
  // Steps of one visit leave no gap: a step whose index follows that of the step before begins
  // where that one ended.
  void begin_step(std::int64_t index) noexcept;
  void end_step() noexcept;

  // Threads: any; one that never entered is known as "thread <id>". Prefer the guards below.
  // `name` must be a literal or outlive the recorder. Scopes nest at most 64 deep.
  // A scope that is open when recording starts or stops is not recorded; it counts as dropped when
  // it was begun in a recorded step.
  void begin_scope(Phase phase, std::string_view name, ScopeOptions options) noexcept;
  void end_scope() noexcept;
  // Ends the computing part of the innermost open scope now; the scope itself stays open. For
  // scopes whose thread computes first and then waits (backward, then the reducer's final wait).
  void end_compute() noexcept;
  // What any thread launches from now on belongs to `phase`, on all devices of this process, until
  // the scope ends that is innermost on each of them. For the tail of a scope whose launches come
  // from other threads (backward, then the wait for the last all-reduce). Host threads keep theirs,
  // and a source that sees launches has no use for it.
  void change_phase(Phase phase) noexcept;

  void count(Counter counter, std::int64_t n = 1) noexcept;

  // Threads: any. `ready` and `end` are taken now, on the host's clock or, with a device source, on
  // the device's: ready when what its main stream holds is done, ended when what `stream` (a
  // cudaStream_t) holds is, or, where the work that carries it is seen, that is. May end after
  // stop(), but not after take(); with a device source what ends after stop() is dropped and
  // counted. end_launch(): the calling thread, which began it, has launched all that carries it.
  CollectiveHandle begin_collective(const CollectiveStart& start) noexcept;
  void end_launch(CollectiveHandle handle) noexcept;
  void end_collective(CollectiveHandle handle, void* stream = nullptr) noexcept;

  // Threads: the one it is about, before its first scope; leave_thread() before it ends. Nested
  // pairs have no effect. Names are kept up to 64 bytes. Guard below.
  void enter_thread(std::string_view name, bool is_main,
                    std::optional<std::int32_t> replica) noexcept;
  void leave_thread() noexcept;

  // Everything recorded so far; the recorder is empty afterwards. `info` is the caller's: clocks,
  // counts, boot id, host and dropped_records are filled in here. Collectives that
  // never ended are dropped and counted.
  // Shape: all vectors are sorted by time; the main thread comes first.
  // Threads: the training loop's, while off. Others may go on with what they are at.
  Trace take(TraceInfo info);

 private:
  struct Log;
  std::unique_ptr<Log> log_;
};

// In scope = the thread is in `phase`.
class PhaseScope {
 public:
  PhaseScope(Recorder& recorder, Phase phase, std::string_view name, ScopeOptions options = {})
      : recorder_(recorder) {
    recorder_.begin_scope(phase, name, options);
  }
  ~PhaseScope() { recorder_.end_scope(); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Recorder& recorder_;
};

// In scope = the calling thread is known under `name`.
class ThreadScope {
 public:
  ThreadScope(Recorder& recorder, std::string_view name, bool is_main,
              std::optional<std::int32_t> replica = {})
      : recorder_(recorder) {
    recorder_.enter_thread(name, is_main, replica);
  }
  ~ThreadScope() { recorder_.leave_thread(); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  Recorder& recorder_;
};

// CLOCK_MONOTONIC in nanoseconds: the clock of every recorded time.
std::int64_t now_ns() noexcept;

}  // namespace ddpprof

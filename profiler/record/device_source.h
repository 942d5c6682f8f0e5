// Where records of device work come from. The one virtual interface of the project.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddpprof {

// A scope as a source hears of it.
struct HostScope {
  Phase phase = Phase::other;
  std::string_view name;
  std::optional<std::int32_t> replica;  // whose device it is about; absent: all of the process's
  bool recorded = false;                // inside a recorded step
  bool brief = false;                   // see ScopeOptions
};

// The times of one recorded collective, to be put right by a source that knows them better.
struct CollectiveTimes {
  std::uint32_t index = 0;  // of its CollectiveHandle
  std::int64_t ready_ns = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<std::uint32_t> work = {};  // what carries it: an index into Trace::work
  bool lost = false;  // there is no such time: the collective is dropped and counted
};

// What a user may ask for.
enum class RecorderChoice : std::uint8_t {
  automatic,  // CUPTI, else events; why not CUPTI is said
  cupti,      // every kernel and copy, each with its launch
  events,     // phases alone, by CUDA events, so that another tool may have CUPTI
};
inline constexpr std::string_view kRecorderChoiceNames[] = {"auto", "cupti", "events"};

// Threads: open() to date_collectives() come from the training loop's thread, outside of steps;
// begin_step() to change_phase() inside of steps, steps from the training loop's thread, scopes
// from the thread they are opened on, collectives from any. Guarantees: nothing throws; a source
// that fails stops delivering and says so by an Issue.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;

  // For TraceInfo::recorder.
  virtual std::string_view recorder() const noexcept = 0;
  // Why it is not the one that sees most. Empty: it is, or the user wanted it so.
  virtual std::string_view reason() const noexcept { return {}; }
  // Whether it delivers Trace::work.
  virtual bool sees_work() const noexcept { return false; }

  // The CUDA ordinals this process drives, in replica order. Once, before all that follows.
  virtual void open(std::span<const std::int32_t> /*ordinals*/) noexcept {}

  // Whether it wants to hear of steps and scopes while nothing is recorded, too. Never changes.
  virtual bool annotates() const noexcept { return false; }

  virtual void start() noexcept = 0;
  // Waits for the devices.
  virtual void stop() noexcept = 0;

  // Appends what was recorded (work, calls, device phases, issues, dropped_records) to `trace`,
  // which has its threads, steps and scopes.
  virtual void collect(Trace& trace) noexcept = 0;
  // Right after collect(), with the same trace.
  virtual void date_collectives(const Trace& /*trace*/,
                                std::span<CollectiveTimes> /*collectives*/) noexcept {}

  virtual void begin_step(std::int64_t /*index*/, bool /*recorded*/) noexcept {}
  virtual void end_step() noexcept {}
  virtual void begin_scope(const HostScope& /*scope*/) noexcept {}
  virtual void end_scope() noexcept {}
  // See Recorder::change_phase().
  virtual void change_phase(Phase /*phase*/) noexcept {}

  // `stream`: see Recorder::end_collective(). What carries the collective is launched by the
  // calling thread between begin_collective() and end_launch().
  virtual void begin_collective(std::uint32_t /*index*/, std::int32_t /*device*/) noexcept {}
  virtual void end_launch(std::uint32_t /*index*/) noexcept {}
  virtual void end_collective(std::uint32_t /*index*/, void* /*stream*/) noexcept {}
};

// The source of this build: one is linked in. Null where host threads are the devices. Call it
// before anything else of CUDA: CUPTI takes one client a process, and this wants to be the first.
// `objection`: why CUPTI must not be used, where the caller knows; empty: it may.
std::unique_ptr<DeviceSource> make_device_source(RecorderChoice choice,
                                                 const std::string& objection = {});

}  // namespace ddpprof

// Where records of device work come from. The one virtual interface of the project.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace ddpprof {

// A scope as a source hears of it.
struct HostScope {
  Phase phase = Phase::other;
  std::string_view name;
  std::optional<std::int32_t> replica;  // whose device it is about; absent: all of the process's
  bool recorded = false;                // inside a recorded step
};

// The times of one recorded collective, to be put right by a source that knows them better.
struct CollectiveTimes {
  std::uint32_t index = 0;  // of its CollectiveHandle
  std::int64_t ready_ns = 0;
  std::int64_t end_ns = 0;
  bool lost = false;  // there is no such time: the collective is dropped and counted
};

// Threads: start() to date_collectives() come from the training loop's thread, outside of steps;
// begin_step() to change_phase() inside of steps, steps from the training loop's thread, scopes
// from the thread they are opened on, collectives from any. Guarantees: nothing throws; a source
// that fails stops delivering and says so by an Issue.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;

  // Whether it wants to hear of steps and scopes while nothing is recorded, too. Never changes.
  virtual bool annotates() const noexcept { return false; }

  virtual void start() noexcept = 0;
  // Waits for the devices.
  virtual void stop() noexcept = 0;

  // Appends what was recorded (work, calls, device phases, issues, dropped_records) to `trace`.
  virtual void collect(Trace& trace) noexcept = 0;
  virtual void date_collectives(std::span<CollectiveTimes> /*collectives*/) noexcept {}

  virtual void begin_step(std::int64_t /*index*/, bool /*recorded*/) noexcept {}
  virtual void end_step() noexcept {}
  virtual void begin_scope(const HostScope& /*scope*/) noexcept {}
  virtual void end_scope() noexcept {}
  // See Recorder::change_phase().
  virtual void change_phase(Phase /*phase*/) noexcept {}

  // `stream`: see Recorder::end_collective().
  virtual void begin_collective(std::uint32_t /*index*/, std::int32_t /*device*/) noexcept {}
  virtual void end_collective(std::uint32_t /*index*/, void* /*stream*/) noexcept {}
};

// The source of this build: one is linked in. Null where host threads are the devices.
// `devices`: the CUDA ordinals this process drives, in replica order.
std::unique_ptr<DeviceSource> make_device_source(std::span<const std::int32_t> devices);

}  // namespace ddpprof

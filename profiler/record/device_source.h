// Where records of device work come from. The one virtual interface of the project.
#pragma once

#include "profiler/trace/trace.h"

#include <memory>
#include <string_view>

namespace ddpprof {

// Threads: all calls come from the training loop's thread, outside of steps.
// Guarantees: nothing throws; a source that fails stops delivering and says so by an Issue.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;

  virtual void start() noexcept = 0;
  virtual void stop() noexcept = 0;

  // Appends what was recorded (work, calls, devices, issues, dropped_records) to `trace`.
  virtual void collect(Trace& trace) noexcept = 0;
};

// The source of this build: one is linked in. Null where host threads are the devices.
std::unique_ptr<DeviceSource> make_device_source();

}  // namespace ddpprof

// How a device profiler's times stand to the host's clock: tiny operations, watched from both
// sides.
#pragma once

#include "profiler/record/device_trace.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ddpprof {

// Threads: one, outside of steps. Guarantees: nothing throws; error() names the first call that
// failed.
class ClockProber {
 public:
  // Takes a few bytes of memory on each device. They are not given back before the process ends:
  // that would wait for a device which may be gone by then.
  void open(std::span<const std::int32_t> ordinals) noexcept;

  // Waits for each device and then sets four bytes on it, some times, reading the host's clock
  // before and after; appends what it saw. Costs some 100 us a device.
  void probe(std::int32_t recording, std::vector<ClockProbe>& probes) noexcept;

  const std::string& error() const { return error_; }

 private:
  bool failed(int code, const char* call) noexcept;

  struct Place {
    std::int32_t ordinal = 0;
    void* bytes = nullptr;
  };
  std::vector<Place> places_;
  std::string error_;
};

}  // namespace ddpprof

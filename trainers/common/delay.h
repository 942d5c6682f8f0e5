// A delay a trainer plants on purpose into one phase, so that tests can prove that it comes back,
// with its length, in that phase.
#pragma once

#include "profiler/trace/labels.h"

#include <cstdint>
#include <string_view>

namespace ddpprof {

enum class DelayKind : std::uint8_t {
  host,    // the thread sleeps
  device,  // the device spins, in the stream the thread launches on
};

// It acts once in each optimizer step whose index k, from 0 on, has k mod every = every - 1.
struct Delay {
  Phase phase = Phase::forward;
  DelayKind kind = DelayKind::host;
  std::int64_t length_ns = 0;
  std::int64_t every = 2;
  // In all other steps the same delay acts in the same place, but in a scope of phase `other`. Work
  // after a sleep is slower, on a device that waited, too: with controls the steps differ in
  // nothing but the phase the delay is in.
  bool has_controls = false;

  bool is_due(std::int64_t step) const { return step % every == every - 1; }
};

// "PHASE:host|device:MICROSECONDS", followed by ":every=N" and ":control" or neither.
// Throws: UsageError.
Delay parse_delay(std::string_view text);

// Throws: UsageError where the strategy has no such phase on `devices_count` devices, or devices
// are threads and the delay would be the device's.
void check_delay_fits(const Delay& delay, std::string_view strategy, std::int64_t devices_count,
                      bool devices_are_threads);

}  // namespace ddpprof

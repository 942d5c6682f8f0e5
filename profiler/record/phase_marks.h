// In which phase one device's main stream is, and where a marker has to go onto it.
#pragma once

#include "profiler/trace/labels.h"
#include "profiler/trace/trace.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ddpprof {

// From this marker on the device is in `phase` of `step`.
struct PhaseMark {
  std::int64_t step = 0;
  Phase phase = Phase::other;
  bool ends_step = false;  // and in no step until the next marker
};

// The markers of one recording on one device. The stack of phases follows the scopes that are about
// this device, whichever threads open them; outside of steps nothing is marked.
//
//     step k           begin        scope A        A ends       end = begin of k+1
//     markers          other        A              other        other
//
// Threads: one at a time.
class PhaseMarks {
 public:
  static constexpr std::size_t kMaxDepth = 64;  // deeper scopes leave the phase as it is

  // Each returns whether a marker has to be recorded now: marks() then has one more.
  // A step that follows the one before begins at the marker that ended that one.
  bool begin_step(std::int64_t index);
  bool end_step();
  bool push(Phase phase);
  bool pop();
  // In place of the innermost one.
  bool change(Phase phase);

  const std::vector<PhaseMark>& marks() const { return marks_; }
  void reserve(std::size_t count) { marks_.reserve(count); }
  // Forgets the markers and the scopes that are open.
  void clear();

 private:
  Phase innermost() const;
  bool mark_change();

  std::vector<PhaseMark> marks_;
  std::array<Phase, kMaxDepth> stack_ = {};
  std::size_t depth_ = 0;
  bool in_step_ = false;
};

// `times_ns`: when the device reached each marker; one that is before its predecessor's counts as
// equal to it (events are coarser than the clock). A step whose end was not marked is left out.
// Shape: one stretch a marker that begins one, empty ones left out.
std::vector<DevicePhase> to_device_phases(std::span<const PhaseMark> marks,
                                          std::span<const std::int64_t> times_ns,
                                          std::int32_t device);

}  // namespace ddpprof

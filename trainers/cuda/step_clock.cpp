// StepClock on a GPU: events on its main stream.
#include "profiler/record/device_events.h"
#include "profiler/trace/error.h"
#include "trainers/common/accelerator.h"

namespace ddpprof {

struct StepClock::State {
  explicit State(at::Device device) : events(device.index(), 0) {}
  DeviceEvents events;
};

StepClock::StepClock(at::Device device, std::int64_t marks_count)
    : state_(std::make_unique<State>(device)) {
  state_->events.reserve(static_cast<std::size_t>(marks_count) + 8);
}

StepClock::~StepClock() = default;

void StepClock::mark() { state_->events.record_time(nullptr); }

std::vector<std::int64_t> StepClock::take_ns() {
  std::vector<DevicePhase> none;
  std::int64_t uncertainty_ns = 0;
  state_->events.resolve(none, uncertainty_ns);
  if (!state_->events.error().empty()) {
    throw Error("GPU", "steps could not be timed: " + state_->events.error(),
                "an error of an earlier operator shows here, too");
  }
  return state_->events.times_ns();
}

}  // namespace ddpprof

// The delay of --delay at work: it acts where it was planted, and is measured without the recorder.
#pragma once

#include "profiler/record/recorder.h"
#include "trainers/common/accelerator.h"
#include "trainers/common/delay.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <c10/core/Device.h>

namespace ddpprof {

// Threads: begin_step() and take_ns() are the training loop's, between what it starts other threads
// for; act() is called by any, within a step.
class PlantedDelay {
 public:
  // Absent: nothing ever acts. A device's delay is calibrated here, which takes it some 50 ms.
  PlantedDelay(const std::optional<Delay>& delay, at::Device device, Recorder& recorder);

  // `index`: as Step::index. Only delays of recorded steps are kept, and no controls.
  void begin_step(std::int64_t index);

  // Whether anything acts in this phase, in whichever step.
  bool is_in(Phase phase) const { return delay_ && delay_->phase == phase; }

  // The calling thread is in `phase`: acts when that is planted here and due, once a step.
  void act(Phase phase) {
    if (turn_.load(std::memory_order_relaxed) != Turn::none && delay_->phase == phase) {
      act_now();
    }
  }

  // The measured length of each, by the step's index: on the host by CLOCK_MONOTONIC before and
  // after the sleep, on a device by an event before and one after the spinning. Waits for the
  // device. Those since the last call.
  std::map<std::int64_t, std::int64_t> take_ns();

 private:
  // What is still to come in this step.
  enum class Turn : std::uint8_t { none, delay, control };

  void act_now();
  void sleep(bool is_kept);
  void spin(bool is_kept);

  std::optional<Delay> delay_;
  Recorder& recorder_;
  std::unique_ptr<DeviceSpin> spin_;  // null: the host's, or none
  std::atomic<Turn> turn_ = Turn::none;
  std::int64_t step_ = 0;
  std::map<std::int64_t, std::int64_t> slept_ns_;  // by step
  std::vector<std::int64_t> spun_steps_;           // in the order of spin_'s lengths
};

}  // namespace ddpprof

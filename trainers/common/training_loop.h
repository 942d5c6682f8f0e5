// One optimizer step after the other: the loop is the same for all strategies.
//
//     begin_step | data | forward_backward | data | forward_backward | … | optimizer |
//                  '----- one micro-step -----'
#pragma once

#include "trainers/common/gradient_dump.h"
#include "trainers/common/optimizer.h"
#include "trainers/common/sampler.h"
#include "trainers/common/strategy.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ddpprof {

class TrainingLoop {
 public:
  // `devices`: those this process drives.
  // Throws: UsageError when the batch does not fit the data set or the devices.
  TrainingLoop(const StrategyInput& input, Strategy& strategy, DeviceSlice devices);

  // Throws: whatever a strategy throws; the process is of no use then.
  void run_step();

  // Optimizer steps so far, and of an epoch.
  std::int64_t steps_count() const { return steps_count_; }
  std::int64_t steps_per_epoch() const { return sampler_.batches_per_epoch(); }

  // Of this process's devices. Reading waits for the device: not inside a timed step.
  std::optional<double> first_loss() const;
  std::optional<double> last_loss() const;
  // Over all devices of the job; collective.
  std::optional<double> mean_last_loss();

  // The mean over all devices of the job, of every step since the last call; collective. Kept only
  // with `keep_losses`.
  void keep_losses() { keeps_losses_ = true; }
  std::vector<double> take_losses();

 private:
  const TrainOptions& options_;
  const Workload& workload_;
  const LauncherEnvironment& place_;
  std::optional<Fault> fault_;
  PlantedDelay& delay_;
  Recorder& recorder_;
  Strategy& strategy_;
  DeviceSlice devices_;
  Sampler sampler_;
  AdamW optimizer_;
  std::optional<GradientDump> dump_;
  std::int64_t steps_count_ = 0;
  bool keeps_losses_ = false;
  at::Tensor first_loss_, last_loss_;  // ()
  std::vector<at::Tensor> losses_;     // ()
};

}  // namespace ddpprof

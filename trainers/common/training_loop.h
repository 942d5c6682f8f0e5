// One optimizer step after the other: the loop is the same for all strategies.
//
//     begin_step | data | forward_backward | data | forward_backward | … | optimizer |
//                  '----- one micro-step -----'
#pragma once

#include "trainers/common/accelerator.h"
#include "trainers/common/gradient_dump.h"
#include "trainers/common/loader.h"
#include "trainers/common/sampler.h"
#include "trainers/common/strategy.h"
#include "trainers/common/update.h"

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

  // As if `steps_count` steps had been made.
  void continue_from(std::int64_t steps_count) { steps_count_ = steps_count; }

  // Optimizer steps so far, and of an epoch.
  std::int64_t steps_count() const { return steps_count_; }
  std::int64_t steps_per_epoch() const { return loader_.batches_per_epoch(); }

  // Of the run, when it is given in epochs or steps.
  std::int64_t run_steps() const;
  const Update& update() const { return update_; }

  // Of this process's devices. Reading waits for the device: not inside a timed step.
  std::optional<double> first_loss() const;
  std::optional<double> last_loss() const;
  // Over all devices of the job; collective.
  std::optional<double> mean_last_loss();

  // Of every step since the last call; collective. Kept only with `keep_records`.
  struct StepRecord {
    std::int64_t step = 0;  // from 1 on
    double loss = 0;        // mean over all devices of the job
    double learning_rate = 0;
    std::optional<double> loss_scale;  // absent without loss scaling
  };
  void keep_records() { keeps_records_ = true; }
  std::vector<StepRecord> take_records();

 private:
  Batch take_batch(std::int64_t micro_step);
  // Of one micro-step; its loss.
  at::Tensor compute(const Batch& batch, std::int64_t micro_step, const LossScale& scale);
  at::Tensor run_eagerly();
  at::Tensor run_graph();
  void capture();
  void update_parameters();

  const TrainOptions& options_;
  const Workload& workload_;
  const LauncherEnvironment& place_;
  std::optional<Fault> fault_;
  PlantedDelay& delay_;
  Recorder& recorder_;
  Strategy& strategy_;
  Loader loader_;
  Update update_;
  std::optional<GradientDump> dump_;
  std::optional<StepGraph> graph_;    // once it was captured
  std::vector<Batch> graph_batches_;  // a micro-step each: what the graph reads
  at::Tensor graph_loss_;             // (): what it writes
  std::int64_t steps_count_ = 0;
  std::int64_t eager_steps_ = 0;
  bool keeps_records_ = false;
  at::Tensor first_loss_, last_loss_;             // ()
  std::vector<at::Tensor> losses_, loss_scales_;  // () each, of the last steps
};

}  // namespace ddpprof

// What differs between single, dp and ddp: how a batch becomes gradients of the parameters.
#pragma once

#include "profiler/record/recorder.h"
#include "trainers/common/control_channel.h"
#include "trainers/common/faults.h"
#include "trainers/common/launcher_environment.h"
#include "trainers/common/loss_scale.h"
#include "trainers/common/options.h"
#include "trainers/common/planted_delay.h"
#include "trainers/common/sampler.h"
#include "trainers/workloads/workload.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace ddpprof {

// What a strategy is made of. Everything outlives it.
struct StrategyInput {
  const TrainOptions& options;
  const Workload& workload;
  const LauncherEnvironment& place;        // rank 0 of 1 unless ddp
  const std::vector<at::Device>& devices;  // of this process, in replica order; never empty
  std::optional<Fault> fault;
  PlantedDelay& delay;
  Recorder& recorder;
  ControlChannel* control = nullptr;  // null: stand-alone
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  // Forward, loss and backward of one micro-step, whose tensors are on device(): adds the gradient
  // of the mean loss, scaled, to the parameters' gradients. `sync`: after this micro-step they hold
  // the mean over all devices, on every rank; ranks need not agree before that. Returns the mean
  // loss over this process's devices, detached.
  virtual at::Tensor forward_backward(const Batch& batch, bool sync, const LossScale& scale) = 0;

  // After the update. Gives gradients back to the allocator unless something holds views of them.
  virtual void zero_gradients();

  // Around recorded steps.
  virtual void set_recording(bool /*is_on*/) {}

  // In place, over all ranks; collective.
  virtual void sum_over_ranks(at::Tensor& /*tensor*/) {}

  // How sums over ranks are laid out, as a text: with the same layout they round alike. Empty:
  // there is no choice, or none was made yet.
  virtual std::string layout() const { return {}; }
  // Before the first step. Throws: Error when it is none of this model's.
  virtual void take_layout(const std::string& /*layout*/) {}

  // What the strategy itself has to say in the trace.
  virtual void describe(TraceInfo& /*info*/) const {}

  // In order, on every rank, when all went well. After an error the process just ends.
  virtual void shut_down() {}

  Model& model() { return *model_; }
  const std::vector<at::Tensor>& parameters() const { return parameters_; }
  // Where the model, its batches and its losses are: the first of the process's devices.
  at::Device device() const { return devices_.front(); }

 protected:
  // The loss without its graph; `output` and `loss` are empty afterwards. The last of backward: the
  // nodes of a large model take their time to go.
  static at::Tensor drop_graph(at::Tensor& output, at::Tensor& loss);

  // Makes the model from the seed on the CPU, so that it is the same in every process.
  explicit Strategy(const StrategyInput& input);

  // Of what is planted into backward, makes the backward pass of `output` act it out, on the thread
  // that runs it. Once a pass.
  void plant_in_backward(const at::Tensor& output);

  const TrainOptions& options_;
  const Workload& workload_;
  const std::vector<at::Device>& devices_;
  std::optional<Fault> fault_;
  PlantedDelay& delay_;
  Recorder& recorder_;
  std::int32_t rank_, world_size_;
  std::int64_t passes_count_ = 0;  // of backward
  std::shared_ptr<Model> model_;
  std::vector<at::Tensor> parameters_;  // of model_, each once
};

}  // namespace ddpprof

// DataParallel on GPUs, as torch.nn.DataParallel does it: one autograd graph over all replicas,
// whose backward runs on one thread a GPU and ends in a node that reduces the gradients.
#include "trainers/dp.h"

#include "trainers/common/precision.h"
#include "trainers/common/replica_threads.h"
#include "trainers/cuda/replicas.h"
#include "trainers/workloads/model.h"

#include <optional>

#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/autograd/functions/comm.h>

namespace ddpprof {
namespace {

// Shapes: B samples of a micro-step, R replicas.
class DataParallel : public Strategy {
 public:
  explicit DataParallel(const StrategyInput& input)
      : Strategy(input),
        sums_gradients_(is_planted(fault_, FaultKind::sum_gradients, 0, 1)),
        replicas_(recorder_, workload_, *model_, devices_),
        threads_(recorder_, replicas_.count(), options_.dp_threads) {}

  at::Tensor forward_backward(const Batch& batch, bool /*sync*/, const LossScale& scale) override {
    at::Tensor output = forward(batch);  // (B, …)
    at::Tensor loss;                     // ()
    {
      const PhaseScope scope(recorder_, Phase::loss, "loss", {.computes = true});
      loss = workload_.loss(output, batch);
    }
    const PhaseScope scope(recorder_, Phase::backward, "backward", {.computes = true});
    plant_in_backward(loss);
    // The mean over the whole batch already averages over the replicas.
    const double factor = sums_gradients_ ? static_cast<double>(replicas_.count()) : 1;
    scale.times(factor).applied_to(loss).backward();
    recorder_.count(Counter::backward);
    return drop_graph(output, loss);
  }

 private:
  at::Tensor forward(const Batch& batch) {
    const PhaseScope scope(recorder_, Phase::forward, "DataParallel.forward", {.brief = true});
    const auto inputs = scatter(batch);
    return devices_.size() == 1 ? forward_alone(inputs.front()) : forward_replicas(inputs);
  }

  // Shape: result[replica][input] is (B/R, …), on the replica's device.
  std::vector<std::vector<at::Tensor>> scatter(const Batch& batch) {
    const PhaseScope scope(recorder_, Phase::scatter, "scatter", {.computes = true});
    delay_.act(Phase::scatter);
    std::vector<std::vector<at::Tensor>> parts(devices_.size());
    for (const at::Tensor& input : batch.inputs) {
      const auto node = std::make_shared<torch::autograd::Scatter>(devices_);
      const torch::autograd::variable_list cut = node->apply({input});
      for (std::size_t replica = 0; replica < parts.size(); ++replica) {
        parts[replica].push_back(cut[replica]);
      }
      recorder_.count(Counter::scatter);
    }
    return parts;
  }

  // On one device torch.nn.DataParallel calls the module itself.
  at::Tensor forward_alone(const std::vector<at::Tensor>& inputs) {
    const PhaseScope scope(recorder_, Phase::forward, "forward", {.computes = true});
    delay_.act(Phase::forward);
    const AutocastScope autocast(at::kCUDA, autocast_type(options_.precision));
    recorder_.count(Counter::forward);
    return model_->forward(inputs);
  }

  at::Tensor forward_replicas(const std::vector<std::vector<at::Tensor>>& inputs) {
    replicate();
    return gather(apply(inputs));  // on the first device
  }

  void replicate() {
    const PhaseScope scope(recorder_, Phase::replicate, "replicate", {.computes = true});
    delay_.act(Phase::replicate);
    replicas_.replicate();
    recorder_.count(Counter::replicate);
  }

  std::vector<at::Tensor> apply(const std::vector<std::vector<at::Tensor>>& inputs) {
    // The main thread waits in this phase.
    const PhaseScope waiting(recorder_, Phase::forward, "parallel_apply");
    std::vector<at::Tensor> outputs(inputs.size());
    threads_.run([&](std::int64_t replica) {
      const auto index = static_cast<std::size_t>(replica);
      const PhaseScope scope(recorder_, Phase::forward, "forward",
                             {.computes = true, .replica = static_cast<std::int32_t>(replica)});
      // Also where it is device 0, which a thread has without a context.
      c10::cuda::set_device(devices_[index].index(), /*force=*/true);
      if (replica == 0) {
        delay_.act(Phase::forward);
      }
      const AutocastScope autocast(at::kCUDA, replica_autocast_type());
      outputs[index] = replicas_.model(replica).forward(inputs[index]);
    });
    recorder_.count(Counter::forward);
    return outputs;
  }

  // See DpAutocast.
  std::optional<at::ScalarType> replica_autocast_type() const {
    const auto type = autocast_type(options_.precision);
    return type && options_.dp_autocast == DpAutocast::pytorch ? at::kHalf : type;
  }

  at::Tensor gather(std::vector<at::Tensor> outputs) {
    const PhaseScope scope(recorder_, Phase::gather, "gather", {.computes = true});
    recorder_.count(Counter::gather);
    const auto node = std::make_shared<torch::autograd::Gather>(device());
    return node->apply(std::move(outputs)).front();
  }

  bool sums_gradients_;
  Replicas replicas_;
  ReplicaThreads threads_;
};

}  // namespace

std::unique_ptr<Strategy> make_dp(const StrategyInput& input) {
  return std::make_unique<DataParallel>(input);
}

}  // namespace ddpprof

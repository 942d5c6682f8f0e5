// DataParallel on a CPU. On GPUs the replicas hang in one autograd graph, whose backward runs on
// one thread a GPU; on a CPU one backward would run all replicas one after the other. So the graph
// is cut at the gathered output: README.md, "The graph of dp".
#include "trainers/dp.h"

#include "trainers/common/precision.h"
#include "trainers/common/replica_threads.h"
#include "trainers/host/replicas.h"
#include "trainers/workloads/model.h"

#include <utility>
#include <vector>

#include <ATen/ops/cat.h>

namespace ddpprof {
namespace {

// Shapes: B samples of a micro-step, R replicas.
class DataParallel : public Strategy {
 public:
  explicit DataParallel(const StrategyInput& input)
      : Strategy(input),
        sums_gradients_(is_planted(fault_, FaultKind::sum_gradients, 0, 1)),
        replicas_(workload_, *model_, options_.workers),
        threads_(recorder_, options_.workers, options_.dp_threads) {}

  at::Tensor forward_backward(const Batch& batch, bool /*sync*/, const LossScale& scale) override {
    const auto [outputs, gathered] = forward(batch);                     // R x (B/R, …), (B, …)
    const at::Tensor loss = differentiate_loss(gathered, batch, scale);  // ()
    backward(outputs, gathered.grad());
    reduce();
    return loss;
  }

 private:
  // What the replicas gave, and all of it as one.
  std::pair<std::vector<at::Tensor>, at::Tensor> forward(const Batch& batch) {
    const PhaseScope scope(recorder_, Phase::forward, "DataParallel.forward", {.brief = true});
    const auto inputs = scatter(batch);
    replicate();
    std::vector<at::Tensor> outputs = apply(inputs);
    at::Tensor gathered = gather(outputs);
    return {std::move(outputs), std::move(gathered)};
  }

  // Shape: result[replica][input] is (B/R, …), a view.
  std::vector<std::vector<at::Tensor>> scatter(const Batch& batch) {
    const PhaseScope scope(recorder_, Phase::scatter, "scatter", {.computes = true});
    delay_.act(Phase::scatter);
    std::vector<std::vector<at::Tensor>> parts(static_cast<std::size_t>(replicas_.count()));
    for (const at::Tensor& input : batch.inputs) {
      const std::int64_t part = input.size(0) / replicas_.count();
      for (std::size_t replica = 0; replica < parts.size(); ++replica) {
        parts[replica].push_back(input.narrow(0, static_cast<std::int64_t>(replica) * part, part));
      }
      recorder_.count(Counter::scatter);
    }
    return parts;
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
      const PhaseScope scope(recorder_, Phase::forward, "forward", on_behalf_of(replica));
      if (replica == 0) {
        delay_.act(Phase::forward);
      }
      const AutocastScope autocast(device().type(), autocast_type(options_.precision));
      const auto index = static_cast<std::size_t>(replica);
      outputs[index] = replicas_.model(replica).forward(inputs[index]);
    });
    recorder_.count(Counter::forward);
    return outputs;
  }

  at::Tensor gather(const std::vector<at::Tensor>& outputs) {
    const PhaseScope scope(recorder_, Phase::gather, "gather", {.computes = true});
    std::vector<at::Tensor> detached;
    for (const at::Tensor& output : outputs) {
      detached.push_back(output.detach());
    }
    recorder_.count(Counter::gather);
    return at::cat(detached).requires_grad_();
  }

  // Leaves the gradient of the loss in `gathered`.
  at::Tensor differentiate_loss(const at::Tensor& gathered, const Batch& batch,
                                const LossScale& scale) {
    const PhaseScope scope(recorder_, Phase::loss, "loss", {.computes = true});
    const at::Tensor loss = workload_.loss(gathered, batch);
    // The mean over the whole batch already averages over the replicas.
    const double factor = sums_gradients_ ? static_cast<double>(replicas_.count()) : 1;
    scale.times(factor).applied_to(loss).backward();
    return loss.detach();
  }

  void backward(const std::vector<at::Tensor>& outputs, const at::Tensor& gradient) {
    const PhaseScope waiting(recorder_, Phase::backward, "parallel_backward");
    const std::int64_t part = gradient.size(0) / replicas_.count();
    plant_in_backward(outputs.front());
    threads_.run([&](std::int64_t replica) {
      const PhaseScope scope(recorder_, Phase::backward, "backward", on_behalf_of(replica));
      outputs[static_cast<std::size_t>(replica)].backward(gradient.narrow(0, replica * part, part));
    });
    recorder_.count(Counter::backward);
  }

  void reduce() {
    const PhaseScope scope(recorder_, Phase::grad_reduce, "grad_reduce", {.computes = true});
    replicas_.reduce_gradients();
  }

  static ScopeOptions on_behalf_of(std::int64_t replica) {
    return {.computes = true, .replica = static_cast<std::int32_t>(replica)};
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

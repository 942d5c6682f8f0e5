#include "trainers/single.h"

#include "trainers/common/precision.h"
#include "trainers/workloads/model.h"

namespace ddpprof {
namespace {

class Single : public Strategy {
 public:
  explicit Single(const StrategyInput& input) : Strategy(input) {}

  at::Tensor forward_backward(const Batch& batch, bool /*sync*/, const LossScale& scale) override {
    at::Tensor output;  // (B, …)
    {
      const PhaseScope scope(recorder_, Phase::forward, "forward", {.computes = true});
      delay_.act(Phase::forward);
      const AutocastScope autocast(device().type(), autocast_type(options_.precision));
      output = model_->forward(batch.inputs);
      recorder_.count(Counter::forward);
    }
    at::Tensor loss;  // ()
    {
      const PhaseScope scope(recorder_, Phase::loss, "loss", {.computes = true});
      loss = workload_.loss(output, batch);
    }
    const PhaseScope scope(recorder_, Phase::backward, "backward", {.computes = true});
    plant_in_backward(loss);
    scale.applied_to(loss).backward();
    recorder_.count(Counter::backward);
    return drop_graph(output, loss);
  }
};

}  // namespace

std::unique_ptr<Strategy> make_single(const StrategyInput& input) {
  return std::make_unique<Single>(input);
}

}  // namespace ddpprof

#include "trainers/common/strategy.h"

#include "profiler/trace/error.h"
#include "trainers/common/parameters.h"
#include "trainers/workloads/model.h"

#include <limits>

#include <ATen/Context.h>

namespace ddpprof {

Strategy::Strategy(const StrategyInput& input)
    : options_(input.options),
      workload_(input.workload),
      devices_(input.devices),
      fault_(input.fault),
      delay_(input.delay),
      recorder_(input.recorder),
      rank_(input.place.rank),
      world_size_(input.place.world_size) {
  const std::uint64_t seed = options_.workload_options.seed;
  at::manual_seed(seed);
  model_ = workload_.make_model();
  model_->to(device());
  model_->train();
  parameters_ = unique_parameters(*model_).tensors;
  // Dropout masks differ between ranks. The seed is that of the GPUs' generators, too.
  at::manual_seed(seed + 1 + static_cast<std::uint64_t>(input.place.rank));
}

void Strategy::plant_in_backward(const at::Tensor& output) {
  ++passes_count_;
  if (has_infinite_gradient(fault_, passes_count_, rank_, world_size_)) {
    output.register_hook([](const at::Tensor& gradient) {
      return gradient * std::numeric_limits<double>::infinity();
    });
  }
  const bool fails = throws_in_backward(fault_, passes_count_, rank_, world_size_);
  if (fails || delay_.is_in(Phase::backward)) {
    output.register_hook([this, fails](const at::Tensor& /*gradient*/) {
      if (fails) {
        throw Error("backward", "fails on purpose", "leave out --fault");
      }
      delay_.act(Phase::backward);
    });
  }
}

void Strategy::zero_gradients() {
  for (const at::Tensor& parameter : parameters_) {
    parameter.mutable_grad() = at::Tensor();
  }
}

at::Tensor Strategy::drop_graph(at::Tensor& output, at::Tensor& loss) {
  const at::Tensor value = loss.detach();  // ()
  output.reset();
  loss.reset();
  return value;
}

}  // namespace ddpprof

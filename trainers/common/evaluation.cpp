#include "trainers/common/evaluation.h"

#include "trainers/common/accelerator.h"
#include "trainers/common/precision.h"
#include "trainers/workloads/model.h"

#include <algorithm>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

namespace ddpprof {

std::optional<Accuracy> evaluate(const StrategyInput& input, Strategy& strategy) {
  const Workload& workload = input.workload;
  if (!workload.test || !workload.count_correct) {
    return {};
  }
  const bool is_shared = input.options.eval == EvalMode::all;
  if (!is_shared && input.place.rank != 0) {
    return {};
  }
  const at::NoGradGuard no_grad;
  const std::int64_t count = workload.test->samples_count;
  const std::int64_t parts = is_shared ? input.place.world_size : 1;
  const std::int64_t begin = count * input.place.rank / parts;
  const std::int64_t end = count * (input.place.rank + 1) / parts;
  Accuracy own;
  strategy.model().eval();
  for (std::int64_t first = begin; first < end; first += input.options.batch) {
    std::vector<std::int64_t> samples(
        static_cast<std::size_t>(std::min(input.options.batch, end - first)));
    std::iota(samples.begin(), samples.end(), first);
    const Batch batch = move_batch(workload.test->fetch(samples), strategy.device());
    const AutocastScope autocast(strategy.device().type(), autocast_type(input.options.precision));
    own.right_count += workload.count_correct(strategy.model().forward(batch.inputs), batch);
    own.samples_count += static_cast<std::int64_t>(samples.size());
  }
  strategy.model().train();
  if (!is_shared) {
    return own;
  }
  at::Tensor counts =  // (2): right, all
      at::tensor({own.right_count, own.samples_count}, at::kLong).to(strategy.device());
  strategy.sum_over_ranks(counts);
  counts = counts.to(at::kCPU);
  const auto* totals = counts.data_ptr<std::int64_t>();
  return Accuracy{.right_count = totals[0], .samples_count = totals[1]};
}

}  // namespace ddpprof

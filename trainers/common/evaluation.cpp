#include "trainers/common/evaluation.h"

#include "trainers/common/precision.h"
#include "trainers/workloads/model.h"

#include <algorithm>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

namespace ddpprof {

std::optional<Accuracy> evaluate(const StrategyInput& input, Strategy& strategy) {
  const Workload& workload = input.workload;
  if (!workload.test || !workload.count_correct) {
    return {};
  }
  const at::NoGradGuard no_grad;
  const std::int64_t count = workload.test->samples_count;
  const std::int64_t begin = count * input.place.rank / input.place.world_size;
  const std::int64_t end = count * (input.place.rank + 1) / input.place.world_size;
  at::Tensor counts = at::zeros({2}, at::kLong);  // (2): right, all
  auto* totals = counts.data_ptr<std::int64_t>();
  strategy.model().eval();
  for (std::int64_t first = begin; first < end; first += input.options.batch) {
    std::vector<std::int64_t> samples(
        static_cast<std::size_t>(std::min(input.options.batch, end - first)));
    std::iota(samples.begin(), samples.end(), first);
    const Batch batch = workload.test->fetch(samples);
    const AutocastScope autocast(input.options.precision);
    totals[0] += workload.count_correct(strategy.model().forward(batch.inputs), batch);
    totals[1] += static_cast<std::int64_t>(samples.size());
  }
  strategy.model().train();
  strategy.sum_over_ranks(counts);
  return Accuracy{.right_count = totals[0], .samples_count = totals[1]};
}

}  // namespace ddpprof

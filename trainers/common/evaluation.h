// How well the trained model does on samples it was not trained on.
#pragma once

#include "trainers/common/sampler.h"
#include "trainers/common/strategy.h"

#include <cstdint>
#include <optional>

namespace ddpprof {

struct Accuracy {
  std::int64_t right_count = 0;
  std::int64_t samples_count = 0;
};

// Exact: every test sample is counted once, on one rank, and the counts are summed; collective.
// With EvalMode::rank0 rank 0 counts them all, alone. Absent where the workload has no test set,
// and for the ranks that have no part.
std::optional<Accuracy> evaluate(const StrategyInput& input, Strategy& strategy);

}  // namespace ddpprof

// The file of --metrics: a line {"step": 1, "loss": 2.3} an optimizer step.
#pragma once

#include "trainers/common/runs.h"

#include <fstream>

namespace ddpprof {

class Metrics {
 public:
  // Does nothing without --metrics. Rank 0 writes, all ranks take part.
  // Throws: Error when the file cannot be written; so does write().
  explicit Metrics(RunContext& context);

  // The steps since the last call; collective. Not inside a timed step.
  void write();

 private:
  RunContext& context_;
  std::ofstream file_;
  std::int64_t steps_count_ = 0;
};

}  // namespace ddpprof

// The file of --metrics: a line {"step": 1, "loss": 2.3, "learning_rate": 0.001} an optimizer step,
// with "loss_scale" where there is one.
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
};

}  // namespace ddpprof

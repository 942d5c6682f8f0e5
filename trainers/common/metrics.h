// The file of --metrics: a line {"step": 1, "loss": 2.3, "learning_rate": 0.001} an optimizer step,
// with "loss_scale" where there is one. A run that goes on keeps the lines of the steps before.
#pragma once

#include "trainers/common/evaluation.h"
#include "trainers/common/runs.h"

#include <fstream>
#include <optional>

namespace ddpprof {

class Metrics {
 public:
  // Does nothing without --metrics. Rank 0 writes, all ranks take part.
  // Throws: Error when the file cannot be written; so does write().
  explicit Metrics(RunContext& context);

  // What was found after the last step: {"step": 1, "test_accuracy": 0.9}.
  void write(const std::optional<Accuracy>& accuracy);

  // The steps since the last call; collective. Not inside a timed step.
  void write();

 private:
  RunContext& context_;
  std::ofstream file_;
};

}  // namespace ddpprof

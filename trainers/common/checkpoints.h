// When a run writes its state, and how it goes on from one.
#pragma once

#include "trainers/common/checkpoint.h"
#include "trainers/common/runs.h"

#include <cstdint>

namespace ddpprof {

// --checkpoint, --checkpoint-every and --resume. Rank 0 writes, every rank reads; all take part.
class Checkpoints {
 public:
  // Throws: Error when --checkpoint cannot be written, before anything is trained for nothing.
  explicit Checkpoints(RunContext& context);

  // Before the first step. Does nothing without --resume.
  // Throws: as read_checkpoint().
  void resume();

  // After each step; `is_last`: no other follows. Not inside a timed step.
  void write_if_due(bool is_last);

 private:
  RunState state();

  RunContext& context_;
  std::int64_t written_count_ = 0;
};

}  // namespace ddpprof

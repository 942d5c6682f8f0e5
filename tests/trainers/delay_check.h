// Whether a planted delay comes back in the table: in its own cell, with its length, and nowhere
// else. Steps with the delay are compared with the steps right after them, in which the same delay
// acted in the same place under phase `other` (its control): work that follows a sleep is slower,
// by some 0.3 ms, and that is no error of the table.
#pragma once

#include "tests/trainers/step_tables.h"
#include "tests/trainers/trainer_process.h"

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace ddpprof::test {

// Where a delay is planted.
struct Plant {
  std::string strategy, phase;

  Phase in() const;
};
std::ostream& operator<<(std::ostream& out, const Plant& plant);
// All that there are; on a CPU as on GPUs.
std::vector<Plant> all_plants();
std::string to_name(const Plant& plant);

Arguments operator+(Arguments arguments, const Arguments& more);

// Runs all processes of a job to their end; `ranks_count` is ddp's.
void train(const std::string& strategy, int ranks_count, const Arguments& arguments);
// The same with --trace. Shape: one trace a process, by rank.
std::vector<Trace> record(const std::string& strategy, int ranks_count, const Arguments& arguments);

// How a delay is planted for these checks: in every third step, so that what alternates from step
// to step (gloo's two threads) does not alternate with it, with controls in the others.
std::string planted(const std::string& phase, const std::string& kind, int microseconds);

// The median over pairs of neighbouring steps, delayed less control, and an interval for it.
struct Move {
  double median_ns = 0;
  double lo_ns = 0, hi_ns = 0;
  std::size_t pairs_count = 0;
};

// The interval goes from one order statistic of the differences to its mirror image. When a delayed
// step and its control do not differ, either is the larger with probability 1/2, so the interval
// misses 0 with the probability that so few of n fair coins fall alike, whatever the noise and its
// drift. It is at most 1e-7: less than one failure by chance in 10,000 runs of 1,000 comparisons.
Move move_of(const std::vector<StepTable>& tables, const Cell& cell);

struct DelayBounds {
  double share = 0;         // of the delay
  double at_least_ns = 0;   // however short the delay
  std::size_t least_pairs;  // what the trace must have
};

// The cell grows by the measured delay, within the bounds, and the residual of every step is 0.
void expect_delay_in(const std::vector<StepTable>& tables, const Cell& cell,
                     const DelayBounds& bounds);

struct MoveBounds {
  double same_phase_ns = 0;  // what going to sleep and waking up compute themselves
  double elsewhere_ns = 0;   // what the scope of a control costs
};

// No cell but `cell` moves, absent: none does: its interval reaches within the bounds around 0. Of
// the control's own cell (other, and the activity of `cell`) nothing is said.
void expect_moves_only(const std::vector<StepTable>& tables, const std::optional<Cell>& cell,
                       const MoveBounds& bounds);

}  // namespace ddpprof::test

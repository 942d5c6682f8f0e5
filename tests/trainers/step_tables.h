// The table of each recorded step of one device, and what a planted delay did to it.
#pragma once

#include "profiler/trace/trace.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof::test {

// An entry of the table, with all kinds of stall as one.
struct Cell {
  Phase phase = Phase::other;
  Activity activity = Activity::compute;

  auto operator<=>(const Cell&) const = default;
};
std::string to_text(const Cell& cell);

struct StepTable {
  std::int64_t step = 0;
  std::optional<std::int64_t> delay_ns;  // absent: none was planted into this step
  std::map<Cell, std::int64_t> cells_ns;
  std::int64_t residual_ns = 0;

  std::int64_t operator[](const Cell& cell) const;
};

// Shape: one a window of the device (a position in TraceInfo::devices), in order of time.
std::vector<StepTable> tabulate(const Trace& trace, std::size_t device);

// Of each step that all ranks recorded the table of the critical rank, the one that is least in
// exposed communication: who waits for others is not idle, so what his host does meanwhile does not
// show. First devices alone. Shape: in order of time.
std::vector<StepTable> tabulate_critical(const std::vector<Trace>& ranks);

// Every cell that any of the steps has.
std::vector<Cell> cells_of(const std::vector<StepTable>& tables);

}  // namespace ddpprof::test

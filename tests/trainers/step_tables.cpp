#include "tests/trainers/step_tables.h"

#include "profiler/diagnose/timeline.h"

#include <algorithm>
#include <set>

namespace ddpprof::test {

std::string to_text(const Cell& cell) {
  return std::string(to_string(cell.phase)) + "/" + std::string(to_string(cell.activity));
}

std::int64_t StepTable::operator[](const Cell& cell) const {
  const auto found = cells_ns.find(cell);
  return found == cells_ns.end() ? 0 : found->second;
}

std::vector<StepTable> tabulate(const Trace& trace, std::size_t device) {
  const DeviceTimeline timeline = find_timelines(trace).at(device);
  std::vector<StepTable> tables;
  for (std::size_t i = 0; i < timeline.windows.size(); ++i) {
    StepTable table;
    table.step = timeline.windows[i].step;
    const auto delay = trace.info.planted_delays_ns.find(table.step);
    if (delay != trace.info.planted_delays_ns.end()) table.delay_ns = delay->second;
    table.residual_ns = timeline.windows[i].span.length_ns();
    for (const Segment& segment : timeline.segments[i]) {
      const Cell cell{segment.label.phase, segment.label.activity.value_or(Activity::stall)};
      table.cells_ns[cell] += segment.span.length_ns();
      table.residual_ns -= segment.span.length_ns();
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<StepTable> tabulate_critical(const std::vector<Trace>& ranks) {
  const auto communication_ns = [](const StepTable& table) {
    std::int64_t sum_ns = 0;
    for (const auto& [cell, ns] : table.cells_ns) {
      if (cell.activity == Activity::communication) sum_ns += ns;
    }
    return sum_ns;
  };
  std::map<std::int64_t, std::vector<StepTable>> by_step;
  for (const Trace& trace : ranks) {
    for (StepTable& table : tabulate(trace, 0)) by_step[table.step].push_back(std::move(table));
  }
  std::vector<StepTable> tables;
  for (const auto& [step, of_ranks] : by_step) {
    if (of_ranks.size() != ranks.size()) continue;
    tables.push_back(*std::ranges::min_element(of_ranks, {}, communication_ns));
  }
  return tables;
}

std::vector<Cell> cells_of(const std::vector<StepTable>& tables) {
  std::set<Cell> cells;
  for (const StepTable& table : tables) {
    for (const auto& [cell, ns] : table.cells_ns) cells.insert(cell);
  }
  return {cells.begin(), cells.end()};
}

}  // namespace ddpprof::test

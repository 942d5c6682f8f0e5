#include "tests/diagnose/simulator.h"

#include "tests/diagnose/machine.h"

#include <algorithm>
#include <deque>
#include <utility>

namespace ddpprof::test {
namespace {

std::vector<Simulation> run(const std::vector<const Program*>& programs) {
  Meetings meetings;
  std::deque<Machine> machines;  // they stay where they are
  for (const Program* program : programs) machines.emplace_back(*program, meetings);
  while (!std::ranges::all_of(machines, &Machine::is_over)) {
    for (Machine& machine : machines) machine.run_hosts();
    for (Machine& machine : machines) machine.run_devices();
    for (Machine& machine : machines) machine.book();
  }
  std::vector<Simulation> simulations;
  for (Machine& machine : machines) simulations.push_back(machine.close());
  return simulations;
}

}  // namespace

Simulation simulate(const Program& program) { return std::move(run({&program}).front()); }

std::vector<Simulation> simulate(const std::vector<Program>& ranks) {
  std::vector<const Program*> programs;
  for (const Program& program : ranks) programs.push_back(&program);
  std::vector<Simulation> simulations = run(programs);
  for (std::size_t i = 0; i < simulations.size(); ++i) {
    TraceInfo& info = simulations[i].trace.info;
    info.rank = static_cast<std::int32_t>(i);
    info.world_size = static_cast<std::int32_t>(simulations.size());
    info.boot_id = "one clock";
  }
  return simulations;
}

}  // namespace ddpprof::test

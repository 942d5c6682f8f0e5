// The simulated machine itself: it goes from one tick to the next.
#pragma once

#include "tests/diagnose/machine_state.h"
#include "tests/diagnose/meetings.h"
#include "tests/diagnose/recording.h"
#include "tests/diagnose/tick_book.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ddpprof::test {

// Its host threads are in machine_hosts.cpp.
class Machine {
 public:
  Machine(const Program& program, Meetings& meetings);

  bool is_over() const;
  // The parts of a tick. Machines of one job do each part one after the other.
  void run_hosts();
  void run_devices();
  void book();
  Simulation close();

 private:
  void finish_kernels();
  bool advance_threads();
  bool can_advance(std::size_t i);
  bool ends_blocking_launch(std::size_t i);
  bool may_synchronize(HostThread& thread, const Action& action);
  void perform(std::size_t i, const Action& action);
  void begin_step();
  void synchronize(std::size_t i);
  void call(std::size_t i, const Action& action);
  void wait_stream(std::size_t i, const Action& action);
  void launch(std::size_t i, const Action& action);
  void launch_parts(const Kernel& call, const std::vector<GraphPart>& parts);
  std::size_t enqueue(Kernel kernel);
  void settle_launches();
  std::size_t current_step() const;
  bool may_start(const Kernel& kernel) const;
  void start(std::size_t kernel, std::size_t device);
  void record_call(std::size_t i, Span ticks, std::int64_t correlation, bool synchronizes,
                   bool is_doubled = false);
  DeviceState& device_of(const Action& action);
  std::optional<std::size_t> last_on(std::int32_t device, std::int64_t stream) const;

  MachineState state_;
  Meetings& meetings_;
  TickBook book_;
  Recording recording_;
  // Launched in this tick. What the process is in is known when all threads have moved.
  std::vector<std::size_t> launched_;
};

}  // namespace ddpprof::test

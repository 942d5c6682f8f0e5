// Who owned each tick of each device of the simulated machine, written down while it happens.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "tests/diagnose/machine_state.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace ddpprof::test {

class TickBook {
 public:
  explicit TickBook(const MachineState& machine);

  // The host begins the last of the machine's steps now.
  void begin_step();

  // The tick [now, now + 1), after all that happens at its begin has happened.
  void book();

  // Shape: a list a device, an entry a step.
  std::vector<std::vector<Overlap>> overlaps() const;
  std::vector<std::vector<Breakdown>> close();

 private:
  // Ticks in which nothing ran, until it is known what the device was waiting for.
  struct Stall {
    std::int64_t begin = 0;
    std::vector<std::int64_t> ticks;
    std::vector<std::size_t> steps;  // whose window each tick is in
  };

  // The next step's window opens when these kernels are done.
  struct Marker {
    std::size_t step = 0;
    std::vector<std::size_t> kernels;
  };

  struct DeviceBook {
    std::deque<Marker> markers;
    std::optional<std::size_t> window;
    Stall stall;
    std::vector<Stall> parked;           // over, but what they waited for has not started
    std::vector<Phase> process_history;  // of each tick
    std::vector<Breakdown> tables;
    std::vector<Overlap> overlaps;
  };

  // The phase of each tick of a thread's life; absent: no scope was open.
  struct ThreadHistory {
    std::int64_t begin = 0;
    std::vector<std::optional<Phase>> phases;
  };

  void keep_history();
  std::optional<Phase> phase_of(std::size_t thread, std::int64_t tick) const;
  void book_device(std::size_t d);
  void book_overlap(const DeviceState& device, Overlap& overlap) const;
  bool is_past_the_end(std::size_t d) const;
  std::optional<std::size_t> find_winner(const DeviceState& device) const;
  std::optional<std::size_t> started_on_main(const DeviceState& device) const;
  void resolve(DeviceBook& book, const Kernel& x);
  Label label_stall(const DeviceBook& book, std::int64_t begin, std::int64_t tick,
                    const Kernel& x) const;
  void resolve_at_end(DeviceBook& book);

  const MachineState& machine_;
  std::vector<DeviceBook> devices_;
  std::vector<ThreadHistory> threads_;
};

}  // namespace ddpprof::test

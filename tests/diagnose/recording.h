// What a profiler writes down of the simulated machine.
#pragma once

#include "tests/diagnose/machine_state.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddpprof::test {

class Recording {
 public:
  explicit Recording(const Program& program);

  std::int64_t next_correlation() { return correlation_++; }
  void add_scope(std::size_t thread, Phase phase, Span ticks);
  // `is_doubled`: with the driver's call inside it.
  void add_call(std::size_t thread, Span ticks, std::int64_t correlation, bool synchronizes,
                bool is_doubled);
  void begin_life(std::size_t thread, std::int64_t tick);
  void end_life(std::size_t thread, std::int64_t tick);

  // Fills in `trace` and `timings`. Not to be used afterwards.
  void close(const MachineState& state, Simulation& simulation);

 private:
  void add_work(const Kernel& kernel);
  void add_collective(const Kernel& kernel, std::vector<CollectiveTiming>& timings);
  void shuffle(std::uint32_t seed, std::vector<CollectiveTiming>& timings);

  Trace trace_;
  NameTable names_;
  std::int64_t correlation_;
};

}  // namespace ddpprof::test

// The state of the simulated machine, which TickBook looks at and only the machine changes.
#pragma once

#include "profiler/trace/trace.h"
#include "tests/diagnose/simulator.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace ddpprof::test {

inline constexpr std::int64_t kNever = -1;
inline constexpr std::size_t kNoStep = static_cast<std::size_t>(-1);

struct RecordedCall {
  bool synchronizes = false;
  std::int64_t return_tick = 0;
};

// Work on its way: enqueued, running or done.
struct Kernel {
  Action action;  // without its parts; `phase` is not used
  std::size_t thread = 0;
  std::int64_t launch_tick = 0;
  std::int64_t return_tick = kNever;  // not yet
  std::int64_t start_tick = kNever, end_tick = kNever;
  std::optional<RecordedCall> call_before;  // on the same thread
  std::vector<std::size_t> waits_for;       // kernels
  std::optional<Phase> captured;            // parts of graphs
  Phase phase = Phase::other;
  std::int64_t correlation = 0;
  std::size_t step = 0;           // in which it was launched, or what counts as that
  std::int64_t waited_ticks = 0;  // in its collective, for others
};

struct HostThread {
  std::size_t next = 0;
  bool is_running = false, is_done = false;
  std::int64_t busy_until = 0;
  std::optional<std::int64_t> synchronizing_since;
  std::optional<std::size_t> awaited;                // the kernel that a synchronising call is for
  std::optional<std::size_t> blocked_in;             // the kernel whose launch has not returned
  std::vector<std::pair<Phase, std::int64_t>> open;  // scopes with their begins
  std::optional<RecordedCall> last_call;
};

struct DeviceState {
  std::map<std::int64_t, std::deque<std::size_t>> queues;  // by stream; the front may be running
  std::map<std::int64_t, std::vector<std::size_t>> stream_waits;  // for the next launch
};

struct MachineState {
  const Program& program;
  std::int64_t now = 0;
  std::vector<HostThread> threads;
  std::vector<DeviceState> devices;
  std::vector<Kernel> kernels;
  std::vector<Step> steps;
  std::map<std::size_t, std::optional<std::size_t>> events;  // the kernel each marks
  std::map<std::size_t, std::int64_t> signals;               // sent and not taken

  bool is_finished(std::size_t kernel) const {
    return kernels[kernel].end_tick != kNever && kernels[kernel].end_tick <= now;
  }
  // Now; of the threads that work for the device alone, else of main.
  Phase process_phase(std::size_t device) const;
};

}  // namespace ddpprof::test

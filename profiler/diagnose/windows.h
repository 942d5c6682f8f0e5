// From the host's steps to the part of a device's time that belongs to each.
#pragma once

#include "profiler/diagnose/cursor.h"
#include "profiler/diagnose/launches.h"
#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ddpprof {

struct Window {
  std::int64_t step = 0;  // Step::index
  std::int32_t visit = 0;
  Span span;
  // What streams other than the main one still ran of this step's work after the window had
  // ended: the length of the union. Absent where phases alone were timed.
  std::optional<std::int64_t> spill_ns = 0;

  bool operator==(const Window&) const = default;
};

// The steps in order of time. Steps whose index does not grow with time, or that are empty, are
// left out: no record of ours has such steps, and no figure could be trusted.
std::vector<Step> order_steps(std::vector<Step> steps);

// Tells which step launched what; cheap when it is asked about in order of time.
class StepFinder {
 public:
  // `steps` are in order of time and outlive this.
  explicit StepFinder(const std::vector<Step>& steps) : steps_(steps) {}

  // How many steps began at an instant or before.
  std::size_t count_begun(std::int64_t time_ns);

  // The step in whose host span a launch falls. Time between two steps of a row counts as the first
  // one's.
  std::optional<std::size_t> find(std::int64_t launched_ns);

 private:
  const std::vector<Step>& steps_;
  Cursor cursor_;
};

// Windows of a device. Step k begins at
//     B(k) = max(host start of step k, end of the last work launched before it on the main stream)
// and its window is [B(k), B(k+1)). The last of a row of steps (one visit, following indices) ends
// at the later of the host's end of the step and the end of all work launched in it.
//
//     host steps   [ 0  ][ 1  ]
//     main stream      00000 11111
//     windows      [    0   ][ 1 ]
//
// Shape: one a step, in the order of `steps`, which are in order of time; contiguous within a row.
// A window may be empty. Source: profiler/README.md, "Steps and windows".
std::vector<Window> find_device_windows(const std::vector<Step>& steps,
                                        const std::vector<LaunchedWork>& work,
                                        std::optional<std::int64_t> main_stream);

// Windows of devices that are threads: the host's spans.
std::vector<Window> find_thread_windows(const std::vector<Step>& steps);

}  // namespace ddpprof

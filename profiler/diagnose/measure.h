// The figures of each step of one device: the table, and communication beside it.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "profiler/diagnose/collectives.h"
#include "profiler/diagnose/timeline.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ddpprof {

// A set of collectives in one step on one device. count, bytes, wait and transfer are sums over the
// collectives that began in the step; the others are lengths of unions inside the window:
//     total = |C|, hidden = |C n K|, exposed = |C| - hidden = exposed_wait + exposed_transfer
// An instant at which one collective waits and another transfers counts as transfer.
// Absent: waits and transfers, see MatchedCollectives::are_known; hidden and exposed parts also
// where K is (DeviceTimeline::compute).
struct CollectiveFigures {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t total_ns = 0;
  std::optional<std::int64_t> hidden_ns;
  std::optional<std::int64_t> exposed_wait_ns, exposed_transfer_ns, wait_ns, transfer_ns;
};

struct StepFigures {
  std::int64_t step = 0;
  std::int32_t visit = 0;
  std::int64_t window_ns = 0;
  Breakdown breakdown;
  // |C| and |C n K|; these and the next two are absent where phases alone were timed.
  std::optional<std::int64_t> communication_ns, hidden_communication_ns;
  std::optional<std::int64_t> contention_ns;
  std::optional<std::int64_t> spill_ns;
  CollectiveFigures collectives;           // all that were recorded as such
  CollectiveFigures gradient_all_reduces;  // of those
};

// Shape: one a window of the timeline. `timings` is that of the trace (MatchedCollectives).
std::vector<StepFigures> measure_steps(const DeviceTimeline& timeline, const Trace& trace,
                                       const std::vector<std::optional<CollectiveTiming>>& timings,
                                       bool waits_are_known);

// Whether a collective is one of DDP's gradient all-reduces.
bool is_gradient_all_reduce(const Collective& collective);

// The length of the part of `set` that lies in each window.
std::vector<std::int64_t> lengths_in(const SpanSet& set, const std::vector<Window>& windows);

// The position of the window that contains an instant.
std::optional<std::size_t> window_at(const std::vector<Window>& windows, std::int64_t time_ns);

}  // namespace ddpprof

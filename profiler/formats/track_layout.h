// Which track of a picture each event of a trace goes to.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof {

enum class EventKind : std::uint8_t { step, scope, call, work, device_phase, collective };

// An event in its place. `index`: among its kind, in its trace's order.
struct Slice {
  Span span;  // never ends before it begins
  EventKind kind = EventKind::step;
  std::uint32_t index = 0;
};

// Shape: slices in the order of their begins, outer before inner; they nest.
struct TrackLane {
  std::string title;  // "steps", "main", "GPU 0 stream 7", …
  int number = 0;     // of several with one title: what does not fit into those before
  std::vector<Slice> slices;
};

// From the top: steps; a track for the threads of one name, main first, with their scopes and the
// calls inside them (DataParallel's replicas have new threads every step);
// collectives; a track a stream of a GPU, those that compute most first, those that only
// communicate last; phases of a device where its work was not recorded. Work of one stream never
// nests: what overlaps is on another lane. `shift_ns` is added to all times.
std::vector<TrackLane> lay_out(const Trace& trace, std::int64_t shift_ns);

}  // namespace ddpprof

// Recordings of many ranks as one trace for Perfetto (ui.perfetto.dev): TrackEvent, protobuf.
#pragma once

#include "profiler/trace/trace.h"

#include <span>
#include <string>

namespace ddpprof {

// Each trace is a process "<strategy> rank <r>", in the order given, pid = its position from 1 (the
// system's would collide between hosts); its description has what is known of clocks and recorder.
// Its tracks, from the top:
//   steps
//   a track a thread, main first: scopes, and the calls inside them
//   collectives
//   a track a stream of a GPU, those that compute most first, those that only communicate last;
//   phases of a device where its work was not recorded
//   counters: launches that have returned and whose (first) work has not started; bytes of
//   gradients in flight
// What overlaps and does not nest goes to further tracks, "stream 7 (2)".
// Arrows go from a call to each piece of work it launched, and along one collective over the ranks
// that recorded it.
// Units: nanoseconds since the first event of all traces, on one clock (common_clock.h).
// Guarantees: on each track slices nest; the same traces give the same bytes.
std::string write_perfetto(std::span<const Trace> traces);

}  // namespace ddpprof

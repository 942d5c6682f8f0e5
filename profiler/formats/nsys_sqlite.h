// Recordings in the schema of `nsys export --type sqlite`, for `nsys stats` and whatever else reads
// such files. Nsight Systems' window does not open them.
#pragma once

#include "profiler/trace/trace.h"

#include <span>
#include <string>

namespace ddpprof {

// The content of one SQLite file with all traces; write it with write_file(), so that it is there
// whole or not at all. It needs nothing beside it (no journal).
//
// Each trace is a process "<strategy> rank <r>" whose ids are its position, counted from 1; a
// thread's id is its position among the trace's threads, counted from 1. Steps and scopes are NVTX
// ranges of domain `ddpprof` as the recorder sends them (category = phase, payload = step or
// replica), collectives and device phases are start/end ranges of it. Calls, kernels, copies, sets
// and waits stand in the CUPTI tables; a table that would be empty is not there. What a recording
// does not tell is NULL. Units: nanoseconds since the first event of all traces;
// TARGET_INFO_SESSION_START_TIME has the time of day of that. Traces with one boot id share
// CLOCK_MONOTONIC; others are put in place by the time of day. Throws: Error when memory runs out.
// Guarantees: the same traces give the same bytes.
std::string write_nsys_sqlite(std::span<const Trace> traces);

}  // namespace ddpprof

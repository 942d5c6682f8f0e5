// Recordings as NVTXT, the text that Nsight Systems' ImportNvtxt turns into a report its window
// opens.
#pragma once

#include "profiler/trace/trace.h"

#include <span>
#include <string>

namespace ddpprof {

// A process a trace, "<strategy> rank <r>", with a row for each track of track_layout.h. All are
// NVTX ranges: the text knows no CUDA rows. Phases are the ranges' categories by number, as the
// recorder's own ranges have them (nvtx_ranges.h). Units: nanoseconds since the first event of all
// traces (common_clock.h), at most 2^53 - 1.
// Guarantees, since ImportNvtxt wants or loses them otherwise: ids below 2^24; names of processes
// and rows unique in the file; push and pop nest on each row, what overlaps goes to a row "… +1";
// no quotes, tabs or line ends in texts, and all of them UTF-8. The same traces give the same
// bytes. Source: seen with ImportNvtxt of Nsight Systems 2022.4.
std::string write_nvtxt(std::span<const Trace> traces);

}  // namespace ddpprof

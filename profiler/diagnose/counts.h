// How often things happen in a step.
#pragma once

#include "profiler/trace/trace.h"

#include <map>
#include <string>

namespace ddpprof {

// TraceInfo::counts over the number of steps, and "launch": device operations of this process that
// were launched in a step, over the same number. Absent keys were not counted; "launch" is absent
// where devices are threads and where phases alone were timed. Empty without steps.
std::map<std::string, double> find_counts(const Trace& trace);

}  // namespace ddpprof

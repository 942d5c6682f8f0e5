// What a reader must know of a recording before trusting its figures: the sentences below the
// table.
#pragma once

#include "profiler/diagnose/diagnosis.h"

#include <string>
#include <vector>

namespace ddpprof {

// Whether some of the table's time has a phase and nobody knows what ran in it.
bool has_phases_alone(const DeviceFigures& figures);

// A paragraph each, in this order: what saw the GPUs where that was not CUPTI (once where all
// strategies agree), what was dropped, and the other issues. Empty when nothing is wrong.
std::vector<std::string> recording_notes(const Diagnosis& diagnosis);

}  // namespace ddpprof

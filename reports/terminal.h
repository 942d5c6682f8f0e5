// The report as a person reads it in a terminal: the verdict, the table, where the files are.
#pragma once

#include "profiler/diagnose/diagnosis.h"

#include <string>

namespace ddpprof {

// At most 80 columns wide for up to three strategies. Ends in a newline.
std::string terminal_report(const Diagnosis& diagnosis);

}  // namespace ddpprof

// The whole diagnosis in one sentence.
#pragma once

#include "profiler/diagnose/diagnosis.h"

#include <string>

namespace ddpprof {

// What a step takes under each strategy, how that stands to one device (to each other where nothing
// ran on one device), and the largest part of it. Never empty, true also when nothing is wrong. A
// difference that the interval does not support is not stated as one.
std::string write_verdict(const Diagnosis& diagnosis);

}  // namespace ddpprof

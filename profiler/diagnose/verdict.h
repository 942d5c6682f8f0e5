// The whole diagnosis in one sentence.
#pragma once

#include "profiler/diagnose/diagnosis.h"

#include <string>

namespace ddpprof {

// How the strategies stand to one device, to each other where there is no run on one device, and
// what the step of the slowest is bound by. Never empty, true also when nothing is wrong. A
// difference that the interval does not support is not stated as one.
std::string write_verdict(const Diagnosis& diagnosis);

}  // namespace ddpprof

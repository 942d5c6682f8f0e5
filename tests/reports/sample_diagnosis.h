// A small diagnosis with every part filled, for the renderers' tests.
#pragma once

#include "profiler/diagnose/diagnosis.h"

namespace ddpprof::test {

Diagnosis sample_diagnosis();

}  // namespace ddpprof::test

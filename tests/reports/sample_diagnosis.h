// A small diagnosis with every part filled, for the renderers' tests.
#pragma once

#include "profiler/diagnose/diagnosis.h"

namespace ddpprof::test {

Diagnosis sample_diagnosis();

// The same where phases alone were timed on the devices: in one strategy, or in all of them.
void forget_activities(StrategyDiagnosis& strategy);
Diagnosis phases_diagnosis();

}  // namespace ddpprof::test

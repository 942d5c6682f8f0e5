// Random training loops for the simulator: on one device with gradient all-reduces on a second
// stream, or on two devices of one process with a thread a replica. Host-bound or device-bound,
// with copies on a side stream, waits between streams, synchronising calls, autograd threads
// without scopes of their own, and some work without a launch record.
#pragma once

#include "tests/diagnose/simulator.h"

#include <cstdint>

namespace ddpprof::test {

Program make_scenario(std::uint32_t seed);

}  // namespace ddpprof::test

// Random training loops for the simulator.
#pragma once

#include "tests/diagnose/simulator.h"

#include <cstdint>
#include <vector>

namespace ddpprof::test {

// On one device with gradient all-reduces on a second stream, or on two devices of one process with
// a thread a replica. Host-bound or device-bound, with copies on a side stream, waits between
// streams, synchronising calls, autograd threads without scopes of their own, and some work without
// a launch record.
Program make_scenario(std::uint32_t seed);

// The next three are as CUPTI records real loops: calls of all kinds with large correlation ids in
// any order, copies that block, waits for streams and events, hosts that run ahead by steps.

// Two ranks of DDP. An autograd thread that lives on launches backward in main's phase, copies into
// and out of buckets in scopes of its own; gradient all-reduces run on a second stream beside
// backward and wait for the other rank in their kernels.
std::vector<Program> make_ddp_scenario(std::uint32_t seed);

// DP on two devices of one process: broadcasts, a thread a replica that is new in each step and
// gets the system id of an older one, copies between devices, an autograd thread a device,
// reductions.
Program make_dp_scenario(std::uint32_t seed);

// Steps that are CUDA graphs in whole or in part: one launch, many pieces of work on several
// streams, each with the phase in which it was captured, or nobody knows it.
Program make_graph_scenario(std::uint32_t seed);

}  // namespace ddpprof::test

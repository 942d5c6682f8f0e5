// Asks the trainer for GPUs what this machine has: CUDA is its business, not ddpprof's.
#pragma once

#include "profiler/formats/probe.h"

#include <chrono>
#include <filesystem>

namespace ddpprof {

// Runs `program --probe` and reads its answer. Nothing of it is left running.
// Throws Error with the program's own words when it fails, and when it is missing, ends by a
// signal, says something else than a probe, or nothing within `limit`.
Probe probe_gpus(const std::filesystem::path& program, std::chrono::milliseconds limit);

}  // namespace ddpprof

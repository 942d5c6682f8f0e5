// Which devices a comparison takes, and what its user should know of them.
#pragma once

#include "tools/compare/options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof {

struct DeviceChoice {
  bool on_gpus = false;
  std::int64_t count = 2;
  std::string why_cpu;  // why the CPU, to be followed by a colon; empty on GPUs
};

// Two GPUs where there are so many and nobody asked for others; else the CPU, with the reason.
// Throws Error when GPUs were asked for and cannot be had: never the CPU instead.
DeviceChoice choose_devices(const CompareOptions& options, const Offer& offer);

// What to read before a run on the first plan.devices GPUs of the probe: how many there are, which
// ones CUDA_VISIBLE_DEVICES leaves, that they differ, that others use them.
std::vector<std::string> gpu_notes(const CompareOptions& options, const Offer& offer,
                                   const ComparePlan& plan);

}  // namespace ddpprof

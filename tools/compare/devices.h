// Which devices a comparison or a training takes, and what its user should know of them.
#pragma once

#include "tools/compare/options.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddpprof {

struct DeviceChoice {
  bool on_gpus = false;
  std::int64_t count = 2;
  std::string why_cpu;  // why the CPU, to be followed by a colon; empty on GPUs
};

// What they are for, and how messages call it.
struct DeviceUse {
  const char* verb = "compare";
  const char* third_person = "compares";
  std::int64_t default_devices = 2;
};

// Throws UsageError for what is wrong whatever the machine.
void check_device_flags(const DeviceFlags& flags);

// Whether a run with these flags could be one on GPUs: asked for, or by default.
bool may_take_gpus(const DeviceFlags& flags);

// The default number of GPUs where there are so many and nobody asked for others; else the CPU,
// with the reason.
// Throws Error when GPUs were asked for and cannot be had: never the CPU instead.
DeviceChoice choose_devices(const DeviceFlags& flags, const Offer& offer,
                            const DeviceUse& use = {});

// The environment of NCCL for `--link link`: see link_environment.
// Throws UsageError when it forbids itself, and when there is one device alone.
std::map<std::string, std::string> chosen_link(
    const std::string& link, std::int64_t devices,
    const std::map<std::string, std::string>& nccl_variables);

// What to read before a run on the first plan.devices GPUs of the probe: how many there are, which
// ones CUDA_VISIBLE_DEVICES leaves, that they differ, that others use them.
std::vector<std::string> gpu_notes(const CompareOptions& options, const Offer& offer,
                                   const ComparePlan& plan);

}  // namespace ddpprof

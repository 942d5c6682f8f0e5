// What this machine offers to a comparison or a training, and what the report says of it.
#pragma once

#include "profiler/diagnose/diagnosis.h"
#include "tools/compare/options.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace ddpprof {

inline constexpr const char* kTrainer = "ddpprof-train";
inline constexpr const char* kCudaTrainer = "ddpprof-train-cuda";

struct OfferSources {
  std::filesystem::path program_folder;  // where ddpprof and its trainers lie
  std::filesystem::path driver_folder = "/proc/driver/nvidia/gpus";
  // Windows' GPUs in WSL 2, where the driver has no such folder.
  std::filesystem::path guest_device = "/dev/dxg";
  std::optional<std::string> visible_devices = {};         // CUDA_VISIBLE_DEVICES
  std::map<std::string, std::string> nccl_variables = {};  // NCCL_… of the environment
  std::chrono::milliseconds probe_limit{60'000};
  std::function<void()> on_probe = [] {};  // it takes seconds where there are many GPUs
};

// Asks the trainer for GPUs only where the driver shows some, the trainer is built, and the run
// could be one on GPUs. That it fails is part of the offer, not an Error.
Offer find_offer(const DeviceFlags& flags, const OfferSources& sources);

// `machine` of report.json. On GPUs: those that are compared on, as the probe found them.
MachineInfo describe_machine(const ComparePlan& plan, const Offer& offer);

}  // namespace ddpprof

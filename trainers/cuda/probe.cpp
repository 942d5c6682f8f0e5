// `ddpprof-train-cuda --probe`: the GPUs as this process would see them, and who else uses them.
#include "profiler/trace/error.h"
#include "trainers/common/accelerator.h"
#include "trainers/cuda/nvml.h"

#include <algorithm>
#include <cstdlib>

#include <cuda_runtime_api.h>

namespace ddpprof {
namespace {

std::string pci_bus_id(int ordinal) {
  char text[32] = {};
  return cudaDeviceGetPCIBusId(text, sizeof text, ordinal) == cudaSuccess ? text : "";
}

// Between the first two, as good as any pair on the machines this is meant for.
std::string describe_link(const Nvml& nvml, int devices_count) {
  if (devices_count < 2) {
    return "";
  }
  int can_access = 0;
  if (cudaDeviceCanAccessPeer(&can_access, 0, 1) != cudaSuccess) {
    return "";
  }
  if (can_access == 0) {
    return "host memory (no peer access)";
  }
  const int nvlinks = std::min(nvml.look_at(pci_bus_id(0)).nvlinks_count.value_or(0),
                               nvml.look_at(pci_bus_id(1)).nvlinks_count.value_or(0));
  return nvlinks > 0 ? "NVLink, " + std::to_string(nvlinks) + " links a GPU" : "PCIe, peer access";
}

}  // namespace

Probe probe_machine() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess && error != cudaErrorNoDevice) {
    throw Error("CUDA", cudaGetErrorString(error),
                "nvidia-smi tells the driver's version; CUDA 13 needs 580 or newer");
  }
  const Nvml nvml;
  Probe probe;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    const GpuUse use = nvml.look_at(pci_bus_id(ordinal));
    probe.devices.push_back(
        {.device = describe_device(at::Device(at::kCUDA, static_cast<at::DeviceIndex>(ordinal))),
         .used_bytes = use.used_bytes,
         .busy = use.busy});
  }
  probe.link = describe_link(nvml, count);
  probe.versions = library_versions();
  if (const std::string driver = nvml.driver_version(); !driver.empty()) {
    probe.versions["driver"] = driver;
  }
  return probe;
}

}  // namespace ddpprof

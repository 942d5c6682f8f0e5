// `ddpprof-train-cuda --probe`: the GPUs as this process would see them, and who else uses them.
#include "trainers/common/accelerator.h"
#include "trainers/cuda/driver.h"
#include "trainers/cuda/nvml.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <cuda_runtime_api.h>

namespace ddpprof {
namespace {

std::string pci_bus_id(int ordinal) {
  char text[32] = {};
  return cudaDeviceGetPCIBusId(text, sizeof text, ordinal) == cudaSuccess ? text : "";
}

// How a pair of GPUs exchanges data, the best way first.
enum class Link : std::uint8_t { nvlink, peer, host, unknown };

Link link_of(const Nvml& nvml, int a, int b) {
  int can_access = 0;
  if (cudaDeviceCanAccessPeer(&can_access, a, b) != cudaSuccess) {
    return Link::unknown;
  }
  if (can_access == 0) {
    return Link::host;
  }
  const auto linked = nvml.are_linked(pci_bus_id(a), pci_bus_id(b));
  if (!linked) {
    return Link::unknown;
  }
  return *linked ? Link::nvlink : Link::peer;
}

// Of the worst pair.
std::string describe_link(const Nvml& nvml, int devices_count) {
  if (devices_count < 2) {
    return "";
  }
  Link worst = Link::nvlink;
  int nvlinks = std::numeric_limits<int>::max();
  for (int a = 0; a < devices_count; ++a) {
    nvlinks = std::min(nvlinks, nvml.look_at(pci_bus_id(a)).nvlinks_count.value_or(0));
    for (int b = a + 1; b < devices_count; ++b) {
      worst = std::max(worst, link_of(nvml, a, b));
    }
  }
  switch (worst) {
    case Link::nvlink:
      return "NVLink, " + std::to_string(nvlinks) + " links a GPU";
    case Link::peer:
      return "PCIe, peer access";
    case Link::host:
      return "host memory (no peer access)";
    case Link::unknown:
      break;
  }
  return "";
}

}  // namespace

Probe probe_machine() {
  int count = 0;
  check_driver(cudaGetDeviceCount(&count));
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

#include "trainers/cuda/nvml.h"

#include <dlfcn.h>

namespace ddpprof {
namespace {

// The part of nvml.h that is used here; the header comes with a toolkit, not with the driver.
// Source: NVML API reference guide, CUDA 13.0.
using Result = int;  // nvmlReturn_t, 0: success
using Handle = void*;
constexpr unsigned kMostLinks = 18;
constexpr int kNvlinkCapability = 2;  // NVML_P2P_CAPS_INDEX_NVLINK
constexpr unsigned kTextSize = 96;

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;  // percent
};

template <typename Function>
Function* cast(void* symbol) {
  return reinterpret_cast<Function*>(symbol);
}

}  // namespace

Nvml::Nvml() : library_(::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  auto* const init = cast<Result()>(find("nvmlInit_v2"));
  is_open_ = init != nullptr && init() == 0;
}

Nvml::~Nvml() {
  if (auto* const shut_down = cast<Result()>(find("nvmlShutdown")); is_open_ && shut_down) {
    shut_down();
  }
  if (library_ != nullptr) {
    ::dlclose(library_);
  }
}

void* Nvml::find(const char* symbol) const {
  return library_ == nullptr ? nullptr : ::dlsym(library_, symbol);
}

std::string Nvml::driver_version() const {
  auto* const get = cast<Result(char*, unsigned)>(find("nvmlSystemGetDriverVersion"));
  char text[kTextSize] = {};
  return is_open_ && get != nullptr && get(text, kTextSize) == 0 ? text : "";
}

void* Nvml::handle_of(const std::string& pci_bus_id) const {
  auto* const get = cast<Result(const char*, Handle*)>(find("nvmlDeviceGetHandleByPciBusId_v2"));
  Handle handle = nullptr;
  return is_open_ && get != nullptr && get(pci_bus_id.c_str(), &handle) == 0 ? handle : nullptr;
}

std::optional<bool> Nvml::are_linked(const std::string& pci_bus_id,
                                     const std::string& other) const {
  auto* const get = cast<Result(Handle, Handle, int, int*)>(find("nvmlDeviceGetP2PStatus"));
  Handle const first = handle_of(pci_bus_id);
  Handle const second = handle_of(other);
  int status = 0;
  if (get == nullptr || first == nullptr || second == nullptr ||
      get(first, second, kNvlinkCapability, &status) != 0) {
    return {};
  }
  return status == 0;  // NVML_P2P_STATUS_OK
}

GpuUse Nvml::look_at(const std::string& pci_bus_id) const {
  Handle const handle = handle_of(pci_bus_id);
  if (handle == nullptr) {
    return {};
  }
  GpuUse use;
  Memory memory{};
  auto* const get_memory = cast<Result(Handle, Memory*)>(find("nvmlDeviceGetMemoryInfo"));
  if (get_memory != nullptr && get_memory(handle, &memory) == 0) {
    use.used_bytes = static_cast<std::int64_t>(memory.used);
  }
  Utilization utilization{};
  auto* const get_utilization =
      cast<Result(Handle, Utilization*)>(find("nvmlDeviceGetUtilizationRates"));
  if (get_utilization != nullptr && get_utilization(handle, &utilization) == 0) {
    use.busy = utilization.gpu / 100.0;
  }
  auto* const get_link =
      cast<Result(Handle, unsigned, unsigned*)>(find("nvmlDeviceGetNvLinkState"));
  for (unsigned link = 0; get_link != nullptr && link < kMostLinks; ++link) {
    unsigned is_active = 0;
    if (get_link(handle, link, &is_active) == 0) {
      use.nvlinks_count = use.nvlinks_count.value_or(0) + (is_active == 1 ? 1 : 0);
    }
  }
  return use;
}

}  // namespace ddpprof

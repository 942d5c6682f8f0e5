// The driver's management library, loaded while running: what other programs do with the GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddpprof {

struct GpuUse {
  std::optional<std::int64_t> used_bytes;  // by all programs
  std::optional<double> busy;        // share of the last moments with a kernel running, 0 to 1
  std::optional<int> nvlinks_count;  // active ones, whatever is at their other ends
};

// Threads: one at a time.
class Nvml {
 public:
  // Everything below is absent where the library is.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // "580.95.05"; empty: unknown.
  std::string driver_version() const;
  // `pci_bus_id`: as cudaDeviceGetPCIBusId() spells it.
  GpuUse look_at(const std::string& pci_bus_id) const;
  // Whether two GPUs reach each other over NVLink, through a switch or not. Absent: unknown.
  std::optional<bool> are_linked(const std::string& pci_bus_id, const std::string& other) const;

 private:
  void* find(const char* symbol) const;
  void* handle_of(const std::string& pci_bus_id) const;  // null: unknown

  void* library_;
  bool is_open_ = false;
};

}  // namespace ddpprof

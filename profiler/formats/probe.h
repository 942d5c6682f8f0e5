// What `ddpprof-train-cuda --probe` finds on a machine before anything runs there: one line of
// JSON.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

// A GPU this process may use; CUDA_VISIBLE_DEVICES decides which and in which order.
struct DeviceProbe {
  Device device;
  // Memory other programs hold, and the share of the last moments (0 to 1) in which a kernel of
  // any program ran. Absent: the driver does not tell.
  std::optional<std::int64_t> used_bytes;
  std::optional<double> busy;

  bool operator==(const DeviceProbe&) const = default;
};

struct Probe {
  std::vector<DeviceProbe> devices;
  std::string link;  // between the devices; empty: fewer than two, or unknown
  std::map<std::string, std::string> versions;  // "cuda", "driver", "nccl", "torch", "cupti"

  bool operator==(const Probe&) const = default;
};

// One line, newline included.
std::string to_line(const Probe& probe);

// Throws Error when the line is not one.
Probe parse_probe(std::string_view line);

}  // namespace ddpprof

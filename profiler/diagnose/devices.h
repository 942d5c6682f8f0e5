// Which devices a trace is about, and which number its records give them.
#pragma once

#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof {

struct TraceDevice {
  std::int32_t id = 0;  // as in Work::device, DevicePhase::device and Collective::device
  std::string name;     // "cuda:1", "cpu:0"
};

// Shape: in replica order, never empty.
//
// Records may number devices within the process or within the machine (a process of DDP that
// drives the second GPU alone may say 1). Numbers that all fit TraceInfo::devices are positions in
// it, and a device is named by Device::number where that is known; otherwise the devices are those
// that appear in records, in ascending order. The records are `work`, without any `device_phases`.
// Devices that are threads: one, or one a replica; "cpu:R" with R the rank where the job has
// several processes, else the replica.
std::vector<TraceDevice> find_devices(const Trace& trace);

// The position of the device a record names; absent for one that has none.
std::optional<std::size_t> position_of(const std::vector<TraceDevice>& devices, std::int32_t id);

// The collectives of each device, as indices into Trace::collectives. The work that carries a
// collective knows its device best; a process with one device has all of them there.
std::vector<std::vector<std::size_t>> find_collectives(const Trace& trace,
                                                       const std::vector<TraceDevice>& devices);

}  // namespace ddpprof

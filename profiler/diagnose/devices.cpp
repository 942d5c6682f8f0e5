#include "profiler/diagnose/devices.h"

#include <algorithm>
#include <set>

namespace ddpprof {
namespace {

std::vector<TraceDevice> thread_devices(const Trace& trace) {
  std::int32_t count = std::max(1, static_cast<std::int32_t>(trace.info.devices.size()));
  for (const Thread& thread : trace.threads)
    count = std::max(count, thread.replica.value_or(0) + 1);
  std::vector<TraceDevice> devices;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::int32_t number = trace.info.world_size > 1 ? trace.info.rank + i : i;
    devices.push_back({.id = i, .name = "cpu:" + std::to_string(number)});
  }
  return devices;
}

std::set<std::int32_t> ids_in_records(const Trace& trace) {
  std::set<std::int32_t> ids;
  for (const Work& work : trace.work) {
    // Most work is on the device of the work before it, and there are millions.
    if (&work == &trace.work.front() || work.device != (&work)[-1].device) ids.insert(work.device);
  }
  if (!ids.empty()) return ids;
  for (const DevicePhase& stretch : trace.device_phases) ids.insert(stretch.device);
  return ids;
}

}  // namespace

std::vector<TraceDevice> find_devices(const Trace& trace) {
  if (trace.info.devices_are_threads) return thread_devices(trace);
  std::set<std::int32_t> ids = ids_in_records(trace);
  const auto count = static_cast<std::int32_t>(trace.info.devices.size());
  const bool are_positions = ids.empty() || (*ids.begin() >= 0 && *ids.rbegin() < count);
  if (are_positions) {
    for (std::int32_t i = 0; i < std::max(1, count); ++i) ids.insert(i);
  }
  std::vector<TraceDevice> devices;
  for (const std::int32_t id : ids) {
    std::int32_t number = id;
    if (are_positions && id < count) {
      number = trace.info.devices[static_cast<std::size_t>(id)].number.value_or(id);
    }
    devices.push_back({.id = id, .name = "cuda:" + std::to_string(number)});
  }
  return devices;
}

std::optional<std::size_t> position_of(const std::vector<TraceDevice>& devices, std::int32_t id) {
  const auto found = std::ranges::find(devices, id, &TraceDevice::id);
  if (found == devices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - devices.begin());
}

std::vector<std::vector<std::size_t>> find_collectives(const Trace& trace,
                                                       const std::vector<TraceDevice>& devices) {
  std::vector<std::vector<std::size_t>> by_device(devices.size());
  for (std::size_t i = 0; i < trace.collectives.size(); ++i) {
    const Collective& collective = trace.collectives[i];
    const std::int32_t id = collective.work && *collective.work < trace.work.size()
                                ? trace.work[*collective.work].device
                                : collective.device;
    const auto device = devices.size() == 1 ? 0 : position_of(devices, id);
    if (device) by_device[*device].push_back(i);
  }
  return by_device;
}

}  // namespace ddpprof

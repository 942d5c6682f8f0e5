// The objects that stand both in a native trace and in control messages.
#pragma once

#include "profiler/formats/json_value.h"
#include "profiler/formats/json_writer.h"
#include "profiler/trace/trace.h"

#include <vector>

namespace ddpprof {

void write_workload(JsonWriter& json, const WorkloadInfo& workload);
WorkloadInfo read_workload(const JsonObject& json);

void write_devices(JsonWriter& json, const std::vector<Device>& devices);
std::vector<Device> read_devices(const std::vector<JsonObject>& items);

}  // namespace ddpprof

#include "profiler/formats/shared_fields.h"

namespace ddpprof {

void write_workload(JsonWriter& json, const WorkloadInfo& workload) {
  json.begin_object();
  json.member("name", workload.name);
  json.member("model", workload.model);
  json.member("dtype", workload.dtype);
  json.member("global_batch", workload.global_batch);
  json.member("parameters_count", workload.parameters_count);
  json.member("gradient_bytes", workload.gradient_bytes);
  json.member("sequence_length", workload.sequence_length);
  json.member("micro_steps", workload.micro_steps);
  json.end_object();
}

WorkloadInfo read_workload(const JsonObject& json) {
  WorkloadInfo workload;
  json.read("name", workload.name);
  json.read("model", workload.model);
  json.read("dtype", workload.dtype);
  json.read("global_batch", workload.global_batch);
  json.read("parameters_count", workload.parameters_count);
  json.read("gradient_bytes", workload.gradient_bytes);
  json.read("sequence_length", workload.sequence_length);
  json.read("micro_steps", workload.micro_steps);
  return workload;
}

void write_devices(JsonWriter& json, const std::vector<Device>& devices) {
  json.begin_array();
  for (const Device& device : devices) {
    json.begin_object();
    json.member("name", device.name);
    json.member("memory_bytes", device.memory_bytes);
    if (device.number) json.member("number", *device.number);
    json.end_object();
  }
  json.end_array();
}

std::vector<Device> read_devices(const std::vector<JsonObject>& items) {
  std::vector<Device> devices;
  for (const JsonObject& item : items) {
    Device& device = devices.emplace_back();
    item.read("name", device.name);
    item.read("memory_bytes", device.memory_bytes);
    item.read("number", device.number);
  }
  return devices;
}

}  // namespace ddpprof

#include "profiler/formats/probe.h"

#include "profiler/formats/json_value.h"
#include "profiler/formats/json_writer.h"

namespace ddpprof {
namespace {

constexpr std::string_view kSubject = "answer to --probe";

// A device here has more to tell than in a trace: it is an object of its own.
void write(JsonWriter& json, const DeviceProbe& probe) {
  json.begin_object();
  json.member("name", probe.device.name);
  json.member("memory_bytes", probe.device.memory_bytes);
  json.member("number", probe.device.number);
  json.member("used_bytes", probe.used_bytes);
  json.member("busy", probe.busy);
  json.end_object();
}

DeviceProbe read_device(const JsonObject& json) {
  DeviceProbe probe;
  json.read("name", probe.device.name);
  json.read("memory_bytes", probe.device.memory_bytes);
  json.read("number", probe.device.number);
  json.read("used_bytes", probe.used_bytes);
  json.read("busy", probe.busy);
  return probe;
}

}  // namespace

std::string to_line(const Probe& probe) {
  std::string line;
  JsonWriter json(line);
  json.begin_object();
  json.key("devices");
  json.begin_array();
  for (const DeviceProbe& device : probe.devices) write(json, device);
  json.end_array();
  json.member("link", probe.link);
  json.member("versions", probe.versions);
  json.end_object();
  line += '\n';
  return line;
}

Probe parse_probe(std::string_view line) {
  const JsonValue value = parse_json(line, kSubject);
  const JsonObject json(value, kSubject, "");
  Probe probe;
  for (const JsonObject& device : json.objects("devices")) {
    probe.devices.push_back(read_device(device));
  }
  json.read("link", probe.link);
  json.read("versions", probe.versions);
  return probe;
}

}  // namespace ddpprof

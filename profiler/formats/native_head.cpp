#include "profiler/formats/native_head.h"

#include "profiler/formats/native.h"
#include "profiler/formats/shared_fields.h"
#include "profiler/trace/error.h"

#include <fmt/core.h>

namespace ddpprof {
namespace {

void write_clock(JsonWriter& json, std::string_view key, const ClockPair& clock) {
  json.key(key);
  json.begin_object();
  json.member("monotonic_ns", clock.monotonic_ns);
  json.member("real_ns", clock.real_ns);
  json.end_object();
}

ClockPair read_clock(const JsonObject& json) {
  ClockPair clock;
  json.read("monotonic_ns", clock.monotonic_ns);
  json.read("real_ns", clock.real_ns);
  return clock;
}

void write_delays(JsonWriter& json, const std::map<std::int64_t, std::int64_t>& delays_ns) {
  json.key("planted_delays");
  json.begin_array();
  for (const auto& [step, length_ns] : delays_ns) {
    json.begin_object();
    json.member("step", step);
    json.member("ns", length_ns);
    json.end_object();
  }
  json.end_array();
}

std::map<std::int64_t, std::int64_t> read_delays(const std::vector<JsonObject>& items) {
  std::map<std::int64_t, std::int64_t> delays_ns;
  for (const JsonObject& item : items) {
    std::int64_t step = 0;
    item.read("step", step);
    item.read("ns", delays_ns[step]);
  }
  return delays_ns;
}

void write_info(JsonWriter& json, const TraceInfo& info) {
  json.new_line();
  json.key("workload");
  write_workload(json, info.workload);
  json.new_line();
  json.member("strategy", info.strategy);
  json.member("rank", info.rank);
  json.member("world_size", info.world_size);
  json.member("host", info.host);
  json.member("boot_id", info.boot_id);
  json.new_line();
  write_clock(json, "clock_begin", info.clock_begin);
  write_clock(json, "clock_end", info.clock_end);
  json.member("clock_uncertainty_ns", info.clock_uncertainty_ns);
  if (info.device_clock_uncertainty_ns) {
    json.member("device_clock_uncertainty_ns", info.device_clock_uncertainty_ns);
  }
  json.new_line();
  json.key("devices");
  write_devices(json, info.devices);
  json.member("devices_are_threads", info.devices_are_threads);
  if (!info.recorder.empty()) json.member("recorder", info.recorder);
  json.key("peak_memory_bytes");
  json.begin_array();
  for (const auto& bytes : info.peak_memory_bytes) json.value(bytes);
  json.end_array();
  json.new_line();
  json.member("dropped_records", info.dropped_records);
  if (!info.collector_overheads_ns.empty()) {
    json.member("collector_overheads_ns", info.collector_overheads_ns);
  }
  json.member("counts", info.counts);
  json.new_line();
  json.member("versions", info.versions);
  json.new_line();
  json.member("ddp_logging_numbers", info.ddp_logging_numbers);
  json.new_line();
  json.member("ddp_logging_texts", info.ddp_logging_texts);
  if (!info.planted_delays_ns.empty()) {
    json.new_line();
    write_delays(json, info.planted_delays_ns);
  }
}

void read_info(const JsonObject& json, TraceInfo& info) {
  info.workload = read_workload(json.object("workload"));
  json.read("strategy", info.strategy);
  json.read("rank", info.rank);
  json.read("world_size", info.world_size);
  json.read("host", info.host);
  json.read("boot_id", info.boot_id);
  info.clock_begin = read_clock(json.object("clock_begin"));
  info.clock_end = read_clock(json.object("clock_end"));
  json.read("clock_uncertainty_ns", info.clock_uncertainty_ns);
  json.read("device_clock_uncertainty_ns", info.device_clock_uncertainty_ns);
  info.devices = read_devices(json.objects("devices"));
  json.read("devices_are_threads", info.devices_are_threads);
  if (json.has("recorder")) json.read("recorder", info.recorder);
  json.read("peak_memory_bytes", info.peak_memory_bytes);
  json.read("dropped_records", info.dropped_records);
  if (json.has("collector_overheads_ns")) {
    json.read("collector_overheads_ns", info.collector_overheads_ns);
  }
  json.read("counts", info.counts);
  json.read("versions", info.versions);
  json.read("ddp_logging_numbers", info.ddp_logging_numbers);
  json.read("ddp_logging_texts", info.ddp_logging_texts);
  if (json.has("planted_delays")) {
    info.planted_delays_ns = read_delays(json.objects("planted_delays"));
  }
}

void write_thread(JsonWriter& json, const Thread& thread) {
  json.begin_object();
  json.member("system_id", thread.system_id);
  json.member("begin_ns", thread.life.begin_ns);
  json.member("end_ns", thread.life.end_ns);
  json.member("name", thread.name);
  json.member("is_main", thread.is_main);
  json.member("replica", thread.replica);
  json.end_object();
}

Thread read_thread(const JsonObject& json) {
  Thread thread;
  json.read("system_id", thread.system_id);
  json.read("begin_ns", thread.life.begin_ns);
  json.read("end_ns", thread.life.end_ns);
  json.read("name", thread.name);
  json.read("is_main", thread.is_main);
  json.read("replica", thread.replica);
  return thread;
}

void write_issue(JsonWriter& json, const Issue& issue) {
  json.begin_object();
  json.member("code", issue.code);
  json.member("text", issue.text);
  json.member("count", issue.count);
  json.end_object();
}

Issue read_issue(const JsonObject& json) {
  Issue issue;
  json.read("code", issue.code);
  json.read("text", issue.text);
  json.read("count", issue.count);
  return issue;
}

// One item a line.
template <typename T, typename Write>
void write_table(JsonWriter& json, std::string_view key, const std::vector<T>& items, Write write) {
  json.new_line();
  json.key(key);
  json.begin_array();
  for (const T& item : items) {
    json.new_line();
    write(json, item);
  }
  json.end_array();
}

void check_schema(const JsonObject& head) {
  std::int64_t schema = 0;
  head.read("schema", schema);
  if (schema >= 1 && schema <= kNativeSchema) return;
  const std::string problem =
      fmt::format("has schema {}; this program reads schema 1 to {}", schema, kNativeSchema);
  head.fail(problem, schema > kNativeSchema ? "read it with the ddpprof that wrote it" : "");
}

}  // namespace

void write_native_head(JsonWriter& json, const Trace& trace) {
  json.begin_object();
  json.member("schema", kNativeSchema);
  write_info(json, trace.info);
  write_table(json, "threads", trace.threads, write_thread);
  write_table(json, "issues", trace.issues, write_issue);
  write_table(json, "names", trace.names,
              [](JsonWriter& out, const std::string& name) { out.value(name); });
  json.end_object();
}

void read_native_head(const JsonObject& head, Trace& trace) {
  check_schema(head);
  read_info(head, trace.info);
  for (const JsonObject& thread : head.objects("threads")) {
    trace.threads.push_back(read_thread(thread));
  }
  for (const JsonObject& issue : head.objects("issues")) {
    trace.issues.push_back(read_issue(issue));
  }
  std::vector<std::string> names;
  head.read("names", names);
  NameTable table(trace.names);
  for (const std::string& name : names) table.intern(name);
}

}  // namespace ddpprof

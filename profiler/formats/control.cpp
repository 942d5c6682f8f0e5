#include "profiler/formats/control.h"

#include "profiler/formats/json_value.h"
#include "profiler/formats/json_writer.h"
#include "profiler/formats/shared_fields.h"
#include "profiler/trace/error.h"

#include <fmt/core.h>

namespace ddpprof {
namespace {

constexpr std::string_view kOrderSubject = "order from ddpprof compare";
constexpr std::string_view kMessageSubject = "message from a trainer";

// One pair a message: the members are the same, in the same order, in both.

void write(JsonWriter& json, const RunOrder& order) {
  json.member("type", "run");
  json.member("steps", order.steps);
  json.member("discarded", order.discarded);
  json.member("record", order.record);
  json.member("visit", order.visit);
}

RunOrder read_run(const JsonObject& json) {
  RunOrder order;
  json.read("steps", order.steps);
  json.read("discarded", order.discarded);
  json.read("record", order.record);
  json.read("visit", order.visit);
  return order;
}

void write(JsonWriter& json, const FinishOrder&) { json.member("type", "finish"); }

void write(JsonWriter& json, const PortMessage& message) {
  json.member("type", "port");
  json.member("port", message.port);
}

PortMessage read_port(const JsonObject& json) {
  PortMessage message;
  json.read("port", message.port);
  return message;
}

void write(JsonWriter& json, const ProgressMessage& message) {
  json.member("type", "progress");
  json.member("stage", message.stage);
  json.member("step", message.step);
  json.member("steps_count", message.steps_count);
}

ProgressMessage read_progress(const JsonObject& json) {
  ProgressMessage message;
  json.read("stage", message.stage);
  json.read("step", message.step);
  json.read("steps_count", message.steps_count);
  return message;
}

void write(JsonWriter& json, const ReadyMessage& message) {
  json.member("type", "ready");
  json.key("workload");
  write_workload(json, message.workload);
  json.key("devices");
  write_devices(json, message.devices);
  json.member("torch_version", message.torch_version);
}

ReadyMessage read_ready(const JsonObject& json) {
  ReadyMessage message;
  message.workload = read_workload(json.object("workload"));
  message.devices = read_devices(json.objects("devices"));
  json.read("torch_version", message.torch_version);
  return message;
}

void write(JsonWriter& json, const RanMessage& message) {
  json.member("type", "ran");
  json.key("step_ends_ns");
  json.begin_array();
  for (const std::int64_t end_ns : message.step_ends_ns) json.value(end_ns);
  json.end_array();
}

RanMessage read_ran(const JsonObject& json) {
  RanMessage message;
  json.read("step_ends_ns", message.step_ends_ns);
  return message;
}

void write(JsonWriter& json, const DoneMessage& message) {
  json.member("type", "done");
  json.member("steps_count", message.steps_count);
  json.member("first_loss", message.first_loss);
  json.member("last_loss", message.last_loss);
}

DoneMessage read_done(const JsonObject& json) {
  DoneMessage message;
  json.read("steps_count", message.steps_count);
  json.read("first_loss", message.first_loss);
  json.read("last_loss", message.last_loss);
  return message;
}

void write(JsonWriter& json, const ErrorMessage& message) {
  json.member("type", "error");
  json.member("subject", message.subject);
  json.member("problem", message.problem);
  json.member("hint", message.hint);
  json.member("is_usage", message.is_usage);
}

ErrorMessage read_error(const JsonObject& json) {
  ErrorMessage message;
  json.read("subject", message.subject);
  json.read("problem", message.problem);
  json.read("hint", message.hint);
  json.read("is_usage", message.is_usage);
  return message;
}

template <typename Variant>
std::string line_of(const Variant& variant) {
  std::string line;
  JsonWriter json(line);
  json.begin_object();
  std::visit([&](const auto& one) { write(json, one); }, variant);
  json.end_object();
  line += '\n';
  return line;
}

std::string read_type(const JsonObject& json) {
  std::string type;
  json.read("type", type);
  return type;
}

}  // namespace

std::string to_line(const Order& order) { return line_of(order); }
std::string to_line(const Message& message) { return line_of(message); }

Order parse_order(std::string_view line) {
  const JsonValue value = parse_json(line, kOrderSubject);
  const JsonObject json(value, kOrderSubject, "");
  const std::string type = read_type(json);
  if (type == "run") return read_run(json);
  if (type == "finish") return FinishOrder{};
  json.fail(fmt::format("unknown type \"{}\"", type));
}

Message parse_message(std::string_view line) {
  const JsonValue value = parse_json(line, kMessageSubject);
  const JsonObject json(value, kMessageSubject, "");
  const std::string type = read_type(json);
  if (type == "progress") return read_progress(json);
  if (type == "ran") return read_ran(json);
  if (type == "ready") return read_ready(json);
  if (type == "port") return read_port(json);
  if (type == "done") return read_done(json);
  if (type == "error") return read_error(json);
  json.fail(fmt::format("unknown type \"{}\"", type));
}

}  // namespace ddpprof

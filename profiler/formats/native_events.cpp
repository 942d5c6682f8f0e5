#include "profiler/formats/native_events.h"

#include "profiler/trace/error.h"

#include <limits>

#include <fmt/core.h>

namespace ddpprof {

NativeEventSink::NativeEventSink(Trace& trace, std::string_view subject)
    : trace_(trace), subject_(subject), names_(trace.names) {}

void NativeEventSink::fail(const std::string& problem) const {
  throw Error(std::string(subject_), fmt::format("event {}: {}", events_count_, problem));
}

template <typename T>
T NativeEventSink::need(const std::optional<T>& value, std::string_view what) const {
  if (!value) fail(fmt::format("\"{}\" is missing", what));
  return *value;
}

std::int32_t NativeEventSink::narrow(std::int64_t value, std::string_view what) const {
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    fail(fmt::format("\"{}\" is out of range: {}", what, value));
  }
  return static_cast<std::int32_t>(value);
}

std::optional<std::int32_t> NativeEventSink::narrow(std::optional<std::int64_t> value,
                                                    std::string_view what) const {
  return value ? std::optional(narrow(*value, what)) : std::nullopt;
}

Span NativeEventSink::span_of(const NativeEvent& event) const {
  const std::int64_t begin_ns = need(event.begin_ns, "ts");
  const std::int64_t duration_ns = need(event.duration_ns, "dur");
  // Wraps round as the writer's subtraction does.
  const auto end_ns =
      static_cast<std::uint64_t>(begin_ns) + static_cast<std::uint64_t>(duration_ns);
  return {begin_ns, static_cast<std::int64_t>(end_ns)};
}

ThreadId NativeEventSink::thread_of(const NativeEvent& event) const {
  const std::int64_t index = need(event.thread, "thread");
  if (index < 0 || index >= static_cast<std::int64_t>(trace_.threads.size())) {
    fail(fmt::format("thread {} is not one of the {} in the table", index, trace_.threads.size()));
  }
  return {static_cast<std::uint32_t>(index)};
}

void NativeEventSink::add(const NativeEvent& event) {
  ++events_count_;  // people count from one
  if (event.phase != "X") return;
  if (event.category == "user_annotation") return add_annotation(event);
  if (event.category == "cuda_runtime" || event.category == "cuda_driver") return add_call(event);
  if (event.category == "kernel" || event.category == "gpu_memcpy" ||
      event.category == "gpu_memset") {
    return add_work(event);
  }
  if (event.category == "gpu_user_annotation") return add_device_phase(event);
}

void NativeEventSink::add_annotation(const NativeEvent& event) {
  if (event.scope_phase) return add_scope(event);
  if (event.collective) return add_collective(event);
  if (event.step) return add_step(event);
  fail("is neither a step nor a scope nor a collective");
}

void NativeEventSink::add_step(const NativeEvent& event) {
  trace_.steps.push_back({.index = *event.step,
                          .visit = narrow(need(event.visit, "visit"), "visit"),
                          .span = span_of(event),
                          .has_losses = event.losses.value_or(false)});
}

void NativeEventSink::add_scope(const NativeEvent& event) {
  const std::optional<Phase> phase = parse_phase(*event.scope_phase);
  if (!phase) fail(fmt::format("unknown phase \"{}\"", *event.scope_phase));
  trace_.scopes.push_back({.span = span_of(event),
                           .thread = thread_of(event),
                           .phase = *phase,
                           .name = names_.intern(event.name),
                           .computes = need(event.computes, "computes"),
                           .cpu_ns = event.cpu_ns,
                           .replica = narrow(event.replica, "replica")});
}

void NativeEventSink::add_call(const NativeEvent& event) {
  trace_.calls.push_back({.span = span_of(event),
                          .thread = thread_of(event),
                          .name = names_.intern(event.name),
                          .correlation = need(event.correlation, "correlation"),
                          .synchronizes = need(event.synchronizes, "synchronizes")});
}

void NativeEventSink::add_work(const NativeEvent& event) {
  const std::string_view text = need(event.activity, "activity");
  const std::optional<Activity> activity = parse_activity(text);
  if (!activity) fail(fmt::format("unknown activity \"{}\"", text));
  if (*activity == Activity::stall) fail("work cannot be a stall");
  std::optional<Phase> captured_phase;
  if (event.scope_phase) {
    captured_phase = parse_phase(*event.scope_phase);
    if (!captured_phase) fail(fmt::format("unknown phase \"{}\"", *event.scope_phase));
  }
  trace_.work.push_back({.span = span_of(event),
                         .device = narrow(need(event.device, "device"), "device"),
                         .stream = need(event.stream, "stream"),
                         .activity = *activity,
                         .name = names_.intern(event.name),
                         .correlation = need(event.correlation, "correlation"),
                         .bytes = need(event.bytes, "bytes"),
                         .captured_phase = captured_phase});
}

void NativeEventSink::add_device_phase(const NativeEvent& event) {
  const std::optional<Phase> phase = parse_phase(event.name);
  if (!phase) fail(fmt::format("unknown phase \"{}\"", event.name));
  trace_.device_phases.push_back({.span = span_of(event),
                                  .device = narrow(need(event.device, "device"), "device"),
                                  .step = need(event.step, "step"),
                                  .phase = *phase});
}

void NativeEventSink::add_collective(const NativeEvent& event) {
  const std::optional<CollectiveKind> kind = parse_collective_kind(*event.collective);
  if (!kind) fail(fmt::format("unknown collective \"{}\"", *event.collective));
  std::optional<std::uint32_t> work;
  if (event.work) {
    if (*event.work < 0 || *event.work > std::numeric_limits<std::uint32_t>::max()) {
      fail(fmt::format("\"work\" is out of range: {}", *event.work));
    }
    work = static_cast<std::uint32_t>(*event.work);
  }
  std::optional<ElementType> element_type;
  if (event.element_type) {
    element_type = parse_element_type(*event.element_type);
    if (!element_type) fail(fmt::format("unknown dtype \"{}\"", *event.element_type));
  }
  trace_.collectives.push_back(
      {.kind = *kind,
       .communicator = names_.intern(need(event.communicator, "Process Group Name")),
       .sequence = need(event.sequence, "Seq"),
       .bytes = need(event.bytes, "bytes"),
       .element_type = element_type,
       .gradient = need(event.gradient, "gradient"),
       .bucket = narrow(event.bucket, "bucket"),
       .root = narrow(event.root, "root"),
       .device = narrow(need(event.device, "device"), "device"),
       .ready_ns = event.ready_ns,
       .span = span_of(event),
       .work = work});
}

void NativeEventSink::finish() const {
  for (const Collective& collective : trace_.collectives) {
    if (!collective.work || *collective.work < trace_.work.size()) continue;
    throw Error(std::string(subject_), fmt::format("a collective names work {} of {}",
                                                   *collective.work, trace_.work.size()));
  }
}

}  // namespace ddpprof

// The events of a native trace, one at a time.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpprof {

// One event as it stands in the file. Only fields the native trace writes; texts are views.
struct NativeEvent {
  std::string_view phase;  // "ph"
  std::string_view category, name;
  std::optional<std::int64_t> begin_ns, duration_ns;
  // From "args".
  std::optional<std::string_view> scope_phase, activity, collective, communicator, element_type;
  std::optional<std::int64_t> step, visit, cpu_ns, replica, thread, correlation, device, stream,
      bytes, sequence, bucket, root, ready_ns, work;
  std::optional<bool> computes, synchronizes, gradient, losses;
};

// Adds events to a trace whose head has been read.
class NativeEventSink {
 public:
  NativeEventSink(Trace& trace, std::string_view subject);

  // Events that the native trace does not write are passed over.
  // Throws Error when a field is missing or makes no sense.
  void add(const NativeEvent& event);
  // Checks what could not be checked before all events were there.
  void finish() const;

 private:
  [[noreturn]] void fail(const std::string& problem) const;
  void add_annotation(const NativeEvent& event);
  void add_step(const NativeEvent& event);
  void add_scope(const NativeEvent& event);
  void add_call(const NativeEvent& event);
  void add_work(const NativeEvent& event);
  void add_device_phase(const NativeEvent& event);
  void add_collective(const NativeEvent& event);

  Span span_of(const NativeEvent& event) const;
  ThreadId thread_of(const NativeEvent& event) const;
  template <typename T>
  T need(const std::optional<T>& value, std::string_view what) const;
  std::int32_t narrow(std::int64_t value, std::string_view what) const;
  std::optional<std::int32_t> narrow(std::optional<std::int64_t> value,
                                     std::string_view what) const;

  Trace& trace_;
  std::string_view subject_;
  NameTable names_;
  std::int64_t events_count_ = 0;
};

}  // namespace ddpprof

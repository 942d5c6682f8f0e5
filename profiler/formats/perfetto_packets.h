// A Perfetto trace, packet by packet: tracks, slices and counters on one sequence.
// Source of all field numbers: perfetto, protos/perfetto/trace.
#pragma once

#include "profiler/formats/protobuf_writer.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddpprof {

using TrackId = std::uint64_t;

// What stands beside a slice.
struct Annotation {
  std::string_view name;
  std::variant<std::int64_t, std::string_view> value;
};

enum class CounterUnit : std::uint8_t { count = 2, bytes = 3 };

class PerfettoPackets {
 public:
  PerfettoPackets();

  // Tracks stand in the order in which they are added: processes, and the tracks of each.
  TrackId add_process(std::int64_t id, std::string_view name, std::string_view description);
  TrackId add_track(TrackId process, std::string_view name);
  TrackId add_counter(TrackId process, std::string_view name, CounterUnit unit);

  // On one track in the order of time, and nested. `flows`: slices with one number are joined by
  // arrows. Units: nanoseconds, none negative.
  void begin(TrackId track, std::int64_t time_ns, std::string_view name, std::string_view category,
             std::span<const Annotation> annotations, std::span<const std::uint64_t> flows);
  void end(TrackId track, std::int64_t time_ns);
  void count(TrackId track, std::int64_t time_ns, std::int64_t value);

  // The file so far.
  std::string take() { return std::move(bytes_); }

 private:
  // Texts with numbers, counted from 1; the packet that uses one first brings it along.
  class Table {
   public:
    explicit Table(std::uint32_t field) : field_(field) {}
    std::uint64_t number(std::string_view text, std::string& interned);

   private:
    std::uint32_t field_;  // of InternedData
    std::map<std::string, std::uint64_t, std::less<>> numbers_;
  };

  template <typename Fill>
  void add_descriptor(const Fill& fill);
  void add_packet(std::int64_t time_ns, std::uint32_t field, std::string_view content);
  void add_packet(std::string_view content);

  std::string bytes_, interned_, event_, part_, packet_;
  TrackId last_track_ = 0;
  bool is_first_ = true;
  Table categories_{1}, names_{2}, annotation_names_{3}, texts_{29};
};

}  // namespace ddpprof

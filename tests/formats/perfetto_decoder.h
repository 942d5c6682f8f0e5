// Reads as much of a Perfetto trace as its writer writes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::test {

struct DecodedTrack {
  std::uint64_t parent = 0, rank = 0;
  std::string name;  // a process: its process_name
  std::string description;
  std::uint64_t pid = 0;   // 0: no process
  std::uint64_t unit = 0;  // 0: no counter
};

struct DecodedEvent {
  std::int64_t time_ns = 0;
  std::uint64_t track = 0;
  std::uint64_t type = 0;  // 1 begin, 2 end, 4 counter
  std::string name, category;
  std::map<std::string, std::string> annotations;
  std::vector<std::uint64_t> flows;
  std::int64_t value = 0;
};

struct DecodedTrace {
  bool orders_processes = false;  // by their ranks: the root track says so
  std::map<std::uint64_t, DecodedTrack> tracks;
  std::vector<DecodedEvent> events;   // in the order of the file
  std::vector<std::uint64_t> flags;   // sequence_flags a packet
  std::vector<std::string> problems;  // what a reader would stumble over
};

DecodedTrace decode_perfetto(std::string_view bytes);

}  // namespace ddpprof::test

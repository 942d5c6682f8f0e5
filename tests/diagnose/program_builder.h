// The words in which scenarios write programs for the simulator, and their dice.
#pragma once

#include "tests/diagnose/simulator.h"

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace ddpprof::test {

inline constexpr std::int64_t kCopyStream = 3;
inline constexpr std::int64_t kSideStream = 8;
inline constexpr std::int64_t kCommunicationStream = 9;

class ProgramBuilder {
 public:
  // Begins with the main thread.
  explicit ProgramBuilder(std::uint32_t seed);

  std::size_t add_thread(const std::string& name, std::optional<std::int32_t> replica = {});
  void add(std::size_t thread, const Action& action);
  void to_main(const Action& action) { add(0, action); }
  void enter(std::size_t thread, Phase phase);
  void leave(std::size_t thread);
  // The host is busy, sometimes for long.
  void idle(std::size_t thread);
  // Ticks of the call, of the way to the device and of the work are drawn unless given (not 0).
  void launch(std::size_t thread, Action action);
  // What was launched before the recording began and runs into it: no launches, but work. The next
  // launch must be on the main stream.
  void launch_before_recording();
  // Later work of `stream` waits for what `other` has now.
  void wait(std::size_t thread, std::int32_t device, std::int64_t stream, std::int64_t other);
  void signal(std::size_t thread, std::size_t signal);
  void await(std::size_t thread, std::size_t signal);

  // Not std::uniform_int_distribution: the same scenarios with every standard library.
  std::int64_t pick(std::int64_t least, std::int64_t most);
  bool chance(std::int64_t percent);

  Program program;
  // Of this scenario.
  std::int64_t device_ticks = 8, host_ticks = 4, arrival_ticks = 6;  // at most
  std::int64_t unrecorded_percent = 0, delay_percent = 0, doubled_percent = 0, call_percent = 0;
  // Launches lose their records now.
  bool may_lose_records = false;

 private:
  std::mt19937 random_;
};

}  // namespace ddpprof::test

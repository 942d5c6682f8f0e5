// A trainer's end of the socket on which `ddpprof compare` gives it orders
// (profiler/formats/control.h).
#pragma once

#include "profiler/formats/control.h"

#include <optional>
#include <stdexcept>
#include <string>

namespace ddpprof {

// The other end is gone: there is nobody left to tell, so the trainer leaves quietly.
class ControlLost : public std::runtime_error {
 public:
  ControlLost() : std::runtime_error("the controlling process is gone") {}
};

class ControlChannel {
 public:
  // Takes over the descriptor.
  // Throws: UsageError when it is not an open one.
  explicit ControlChannel(int descriptor);
  ~ControlChannel();
  ControlChannel(const ControlChannel&) = delete;
  ControlChannel& operator=(const ControlChannel&) = delete;

  // Throws: ControlLost.
  void send(const Message& message);

  // Sleeps in read() until an order is there.
  // Throws: ControlLost at the end of the stream, Error for a line that is no order.
  Order receive();

 private:
  int descriptor_;
  std::string unread_;
};

}  // namespace ddpprof

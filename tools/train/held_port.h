// A port for rank 0, where it cannot say which one it took.
#pragma once

#include <cstdint>

namespace ddpprof {

// A free port of the loopback address. While this lives the system gives it to nobody that asks for
// any port, or connects from any; who asks for this one by number, with SO_REUSEADDR as trainers
// do, may listen on it: the socket that holds it never listens.
class HeldPort {
 public:
  // Throws Error when there is none.
  HeldPort();
  ~HeldPort();
  HeldPort(const HeldPort&) = delete;
  HeldPort& operator=(const HeldPort&) = delete;

  std::int32_t number() const { return number_; }

 private:
  int socket_ = -1;
  std::int32_t number_ = 0;
};

}  // namespace ddpprof

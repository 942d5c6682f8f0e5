// The socket on which rank 0 serves the ranks' store.
#pragma once

#include <cstdint>
#include <string>

namespace ddpprof {

struct ListeningSocket {
  int descriptor = -1;  // the caller's
  std::int32_t port = 0;
};

// Listens on the loopback address only when `address` is one, else on all of the machine's
// addresses. Port 0 takes a free one.
// Throws: Error.
ListeningSocket open_listening_socket(const std::string& address, std::int32_t port);

}  // namespace ddpprof

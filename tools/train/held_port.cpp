#include "tools/train/held_port.h"

#include "profiler/trace/error.h"

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ddpprof {

HeldPort::HeldPort() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      bind(socket_, address, size) != 0 || getsockname(socket_, address, &size) != 0) {
    const std::string why = std::strerror(errno);
    if (socket_ >= 0) close(socket_);
    throw Error("ddp", "no free port of 127.0.0.1 for its ranks to meet: " + why);
  }
  number_ = ntohs(place.sin_port);
}

HeldPort::~HeldPort() { close(socket_); }

}  // namespace ddpprof

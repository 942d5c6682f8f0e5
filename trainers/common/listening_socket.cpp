#include "trainers/common/listening_socket.h"

#include "profiler/trace/error.h"

#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ddpprof {
namespace {

constexpr int kBacklog = 1024;

[[noreturn]] void fail(int descriptor, std::int32_t port) {
  const int code = errno;
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  throw Error("MASTER_PORT " + std::to_string(port),
              code == EADDRINUSE
                  ? "is in use already"
                  : "cannot be listened on: " + std::generic_category().message(code),
              "take another port, or end the job that holds this one");
}

}  // namespace

ListeningSocket open_listening_socket(const std::string& address, std::int32_t port) {
  ListeningSocket result;
  result.descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (result.descriptor < 0) {
    fail(-1, port);
  }
  // A port whose last job ended a moment ago is free.
  const int on = 1;
  ::setsockopt(result.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool is_loopback = address == "localhost" || address.starts_with("127.");
  place.sin_addr.s_addr = htonl(is_loopback ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t size = sizeof place;
  if (::bind(result.descriptor, reinterpret_cast<const sockaddr*>(&place), size) != 0 ||
      ::listen(result.descriptor, kBacklog) != 0 ||
      ::getsockname(result.descriptor, reinterpret_cast<sockaddr*>(&place), &size) != 0) {
    fail(result.descriptor, port);
  }
  result.port = ntohs(place.sin_port);
  return result;
}

}  // namespace ddpprof

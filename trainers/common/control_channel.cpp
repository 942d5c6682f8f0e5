#include "trainers/common/control_channel.h"

#include "profiler/trace/error.h"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ddpprof {
namespace {

// A socket, else a pipe (SIGPIPE is ignored by main).
ssize_t write_some(int descriptor, std::string_view text) {
  const ssize_t sent = ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno == ENOTSOCK) {
    return ::write(descriptor, text.data(), text.size());
  }
  return sent;
}

}  // namespace

ControlChannel::ControlChannel(int descriptor) : descriptor_(descriptor) {
  // The trainer starts no programs, but a library might.
  if (::fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    throw UsageError("--control-fd " + std::to_string(descriptor), "is not an open descriptor",
                     "the program that starts the trainer opens it; leave the flag out to train "
                     "stand-alone");
  }
}

ControlChannel::~ControlChannel() { ::close(descriptor_); }

void ControlChannel::send(const Message& message) {
  const std::string line = to_line(message);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = write_some(descriptor_, rest);
    if (sent < 0 && errno == EINTR) {
      continue;
    }
    if (sent <= 0) {
      throw ControlLost();
    }
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

Order ControlChannel::receive() {
  while (true) {
    const auto end = unread_.find('\n');
    if (end != std::string::npos) {
      const std::string line = unread_.substr(0, end + 1);
      unread_.erase(0, end + 1);
      return parse_order(line);
    }
    char buffer[4096];
    const ssize_t got = ::read(descriptor_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      throw ControlLost();
    }
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace ddpprof

#include "tools/launcher/process.h"

#include "profiler/trace/error.h"
#include "tools/launcher/environment.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddpprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::string errno_text() { return std::strerror(errno); }

// Between fork and exec: nothing here allocates.
[[noreturn]] void become(const char* program, char* const* arguments, char* const* environment,
                         int log, int socket, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  // One fresh read-only descriptor in place of our standard input.
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0) _exit(127);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // what we inherited ourselves
  fcntl(socket, F_SETFD, 0);
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(program, arguments, environment);
  _exit(127);
}

}  // namespace

void check_trainer(const std::filesystem::path& program) {
  if (access(program.c_str(), X_OK) == 0) return;
  throw Error(program.filename().string(), "not found beside ddpprof",
              "build it: cmake --workflow --preset trainers, or run tools/run");
}

Process::Process(ProcessOptions options) : name_(std::move(options.name)), log_(options.log) {
  check_trainer(options.program);
  const int log = open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log < 0) throw Error(log_.string(), "cannot be written: " + errno_text());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    const std::string why = errno_text();
    close(log);
    throw Error(name_, "no control socket: " + why, "raise the limit on open files (ulimit -n)");
  }
  std::vector<std::string> arguments = {options.program.string()};
  arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
  arguments.insert(arguments.end(), {"--control-fd", fmt::format("{}", ends[1])});
  std::vector<std::string> environment = merged_environment(options.environment, options.unset);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(environment);
  const pid_t self = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    become(options.program.c_str(), argv.data(), envp.data(), log, ends[1], self);
  }
  const std::string why = pid_ < 0 ? errno_text() : "";
  close(log);
  close(ends[1]);
  if (pid_ < 0) {
    close(ends[0]);
    throw Error(name_, "cannot be started: " + why, "raise the limit on processes (ulimit -u)");
  }
  setpgid(pid_, pid_);  // whoever of the two comes first
  socket_ = ends[0];
  fcntl(socket_, F_SETFL, O_NONBLOCK);
}

Process::Process(Process&& other) noexcept
    : name_(std::move(other.name_)),
      log_(std::move(other.log_)),
      pid_(std::exchange(other.pid_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      status_(other.status_),
      partial_(std::move(other.partial_)) {}

Process::~Process() {
  end(0);
  if (socket_ >= 0) close(socket_);
}

bool Process::send(std::string_view line) noexcept {
  while (!line.empty()) {
    const ssize_t sent = ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      line.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd writable{socket_, POLLOUT, 0};
      poll(&writable, 1, 1000);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool Process::receive(std::vector<std::string>& lines) {
  char buffer[4096];
  for (;;) {
    const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
    if (got == 0) return false;
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN;
    }
    partial_.append(buffer, static_cast<std::size_t>(got));
    std::size_t from = 0;
    for (std::size_t end; (end = partial_.find('\n', from)) != std::string::npos; from = end + 1) {
      lines.push_back(partial_.substr(from, end - from));
    }
    partial_.erase(0, from);
  }
}

std::optional<int> Process::wait(int timeout_ms) noexcept {
  const auto deadline = steady_clock::now() + milliseconds(timeout_ms);
  while (!status_ && pid_ > 0) {
    int status = 0;
    const pid_t reaped = waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_) status_ = status;
    if (reaped < 0 && errno != EINTR) break;  // not ours any more
    if (status_ || steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return status_;
}

void Process::end(int grace_ms) noexcept {
  if (pid_ <= 0) return;
  if (!wait(0)) {
    kill(-pid_, SIGCONT);
    kill(-pid_, SIGTERM);
    if (grace_ms == 0 || !wait(grace_ms)) kill(-pid_, SIGKILL);
    wait(10'000);
  }
  pid_ = -1;
}

std::string exit_text(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    return fmt::format("killed by signal {} ({})", number, strsignal(number));
  }
  return fmt::format("exit code {}", WEXITSTATUS(wait_status));
}

std::vector<std::string> last_lines(const std::filesystem::path& path, std::size_t count) {
  // A log can be long: only its end is read.
  constexpr std::streamoff kTail = 16384;
  std::ifstream file(path, std::ios::binary);
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  if (!file || size <= 0) return {};
  file.seekg(std::max<std::streamoff>(0, size - kTail));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  if (lines.size() > count)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(count));
  return lines;
}

}  // namespace ddpprof

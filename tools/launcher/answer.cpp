#include "tools/launcher/answer.h"

#include "profiler/trace/error.h"

#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddpprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kTickMs = 20;
constexpr std::size_t kMostKept = 1 << 20;
// A process stuck inside the driver cannot be reaped; init does it then.
constexpr milliseconds kReapLimit{2'000};

struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("pipe", std::strerror(errno));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void close_end(int which) {
    if (ends[which] >= 0) close(ends[which]);
    ends[which] = -1;
  }

  // Takes what is there without waiting. More than kMostKept is no answer and is dropped.
  void drain() {
    char buffer[4096];
    for (;;) {
      const ssize_t got = read(ends[0], buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got == 0) close_end(0);
      if (got <= 0) return;
      if (text.size() < kMostKept) text.append(buffer, static_cast<std::size_t>(got));
    }
  }

  int ends[2] = {-1, -1};  // to read, to write
  std::string text;
};

// Between fork and exec: nothing here allocates.
[[noreturn]] void become(char* const* arguments, int out, int err, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0) _exit(127);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  signal(SIGPIPE, SIG_DFL);
  execv(arguments[0], arguments);
  _exit(127);
}

// One run of the program; ended and reaped by the destructor.
class Asked {
 public:
  Asked(std::string program, std::string flag) {
    char* const arguments[] = {program.data(), flag.data(), nullptr};
    const pid_t self = getpid();
    pid_ = fork();
    if (pid_ == 0) become(arguments, out.ends[1], err.ends[1], self);
    if (pid_ < 0) throw Error(program, std::string("cannot be started: ") + std::strerror(errno));
    setpgid(pid_, pid_);  // whoever of the two comes first
    out.close_end(1);
    err.close_end(1);
  }
  ~Asked() {
    kill(-pid_, SIGKILL);
    const auto deadline = steady_clock::now() + kReapLimit;
    while (!reaped_ && steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(2));
      look();
    }
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  // The wait status; absent when it has not ended within `limit`.
  std::optional<int> listen(milliseconds limit) {
    const auto deadline = steady_clock::now() + limit;
    do {
      pollfd both[] = {{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}};
      poll(both, 2, kTickMs);
      look();  // before the pipes: what it wrote is in them once it has ended
      out.drain();
      err.drain();
    } while (!reaped_ && steady_clock::now() < deadline);
    return reaped_;
  }

  Pipe out, err;

 private:
  void look() {
    int status = 0;
    if (!reaped_ && waitpid(pid_, &status, WNOHANG) == pid_) reaped_ = status;
  }

  pid_t pid_ = -1;
  std::optional<int> reaped_;
};

}  // namespace

Answer ask(const std::filesystem::path& program, const std::string& flag, milliseconds limit) {
  Asked asked(program.string(), flag);
  Answer answer;
  answer.status = asked.listen(limit);
  answer.out = std::move(asked.out.text);
  answer.err = std::move(asked.err.text);
  return answer;
}

}  // namespace ddpprof

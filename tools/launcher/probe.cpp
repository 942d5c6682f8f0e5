#include "tools/launcher/probe.h"

#include "profiler/trace/error.h"
#include "tools/launcher/process.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
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
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("--probe", std::strerror(errno));
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
  explicit Asked(std::string program) {
    std::string flag = "--probe";
    char* const arguments[] = {program.data(), flag.data(), nullptr};
    const pid_t self = getpid();
    pid_ = fork();
    if (pid_ == 0) become(arguments, out.ends[1], err.ends[1], self);
    if (pid_ < 0) throw Error("--probe", std::strerror(errno));
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

// What a trainer prints before it exits: "NAME: subject: problem" and maybe "  hint: …", after
// whatever libraries have said. A program of other words: its last line.
struct Words {
  std::string problem, hint;
};

Words words_of(std::string_view text, const std::string& program) {
  const std::string begin = program + ": ";
  constexpr std::string_view kHint = "  hint: ";
  Words words;
  bool is_ours = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(begin)) {
      words = {std::string(line.substr(begin.size())), {}};
      is_ours = true;
    } else if (is_ours && line.starts_with(kHint)) {
      words.hint = line.substr(kHint.size());
    } else if (!is_ours && !line.empty()) {
      words.problem = line;
    }
  }
  return words;
}

}  // namespace

Probe probe_gpus(const std::filesystem::path& program, milliseconds limit) {
  const std::string name = program.filename().string();
  const std::string subject = name + " --probe";
  const std::string by_hand = fmt::format("run it by hand: {} --probe", program.string());
  if (access(program.c_str(), X_OK) != 0) throw Error(name, "not found beside ddpprof");
  Asked asked(program.string());
  const std::optional<int> status = asked.listen(limit);
  const Words words = words_of(asked.err.text, name);
  if (!status) {
    throw Error(subject,
                fmt::format("no answer within {} s", std::chrono::duration<double>(limit).count()) +
                    (words.problem.empty() ? "" : "; its last words: " + words.problem),
                "see whether nvidia-smi answers, and " + by_hand);
  }
  if (*status != 0) {
    const bool said_why = WIFEXITED(*status) && !words.problem.empty();
    throw Error(subject,
                said_why                ? words.problem
                : words.problem.empty() ? exit_text(*status)
                                        : exit_text(*status) + "; its last words: " + words.problem,
                words.hint.empty() ? by_hand : words.hint);
  }
  try {
    return parse_probe(asked.out.text);
  } catch (const Error& error) {
    throw Error(subject, "its answer cannot be read: " + error.problem,
                "ddpprof and it may be of different builds; " + by_hand);
  }
}

}  // namespace ddpprof

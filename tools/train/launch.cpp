#include "tools/train/launch.h"

#include "profiler/trace/error.h"
#include "tools/launcher/environment.h"
#include "tools/launcher/process.h"
#include "tools/train/held_port.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddpprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kWrongUsage = 2;
constexpr std::size_t kMostLines = 20;
// Signals wake us; this is for those that fell together.
constexpr milliseconds kTick{500};
// After a failure: how long others may take to show theirs. A rank that throws closes its sockets
// before it ends, so that a peer may end first.
constexpr milliseconds kAftermath{500};
// A process stuck inside the driver cannot be reaped; init does it then.
constexpr milliseconds kReapLimit{10'000};

// Signals that are waited for instead of handled. Those that were ignored stay so.
class SignalQueue {
 public:
  SignalQueue() {
    std::signal(SIGCHLD, SIG_DFL);  // ignored by who started us: children would end unseen
    sigemptyset(&set_);
    sigaddset(&set_, SIGCHLD);
    for (const int number : kEndingSignals) {
      struct sigaction now = {};
      sigaction(number, nullptr, &now);
      if (now.sa_handler != SIG_IGN) sigaddset(&set_, number);
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~SignalQueue() {
    while (next(milliseconds(0)) != 0) continue;
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  // 0 when none comes within `limit`.
  int next(milliseconds limit) const {
    const auto count = std::max<std::int64_t>(0, limit.count());
    const timespec time{.tv_sec = count / 1000, .tv_nsec = count % 1000 * 1'000'000};
    const int number = sigtimedwait(&set_, nullptr, &time);
    return number > 0 ? number : 0;
  }

  // One that asks us to end; 0 when there is none within `limit` or a child has changed.
  int next_ending(milliseconds limit) const {
    const int number = next(limit);
    return number == SIGCHLD ? 0 : number;
  }

  const sigset_t& before() const { return before_; }

 private:
  sigset_t set_{}, before_{};
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct Rank {
  pid_t pid = -1;
  std::unique_ptr<std::FILE, CloseFile> said;  // without a name; rank 0 has none
  std::optional<int> status;                   // of wait(2)
  bool has_failed = false;                     // by itself: before we ended it
};

// Between fork and exec: nothing here allocates. `said` is -1 for rank 0.
[[noreturn]] void become_rank(const char* program, char* const* arguments, char* const* environment,
                              int said, const sigset_t* signals, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before prctl
  if (said >= 0) {
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0) _exit(127);
    dup2(null, STDIN_FILENO);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
  }
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // what we inherited ourselves
  sigprocmask(SIG_SETMASK, signals, nullptr);
  execve(program, arguments, environment);
  _exit(127);
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

class Ranks {
 public:
  explicit Ranks(const SignalQueue& signals) : signals_(signals) {}
  ~Ranks() {
    for (const Rank& rank : all_) {
      if (!rank.status) kill(rank.pid, SIGKILL);
    }
    await_all(kReapLimit);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void start(const std::filesystem::path& program, std::vector<std::string> arguments,
             std::vector<std::string> environment) {
    arguments.insert(arguments.begin(), program.string());
    const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);
    Rank rank;
    if (!all_.empty()) rank.said.reset(std::tmpfile());
    const int said = rank.said ? fileno(rank.said.get()) : -1;
    if (!all_.empty() && said < 0) {
      throw Error("temporary file", std::string("cannot be made: ") + std::strerror(errno));
    }
    const pid_t self = getpid();
    rank.pid = fork();
    if (rank.pid == 0) {
      become_rank(program.c_str(), argv.data(), envp.data(), said, &signals_.before(), self);
    }
    if (rank.pid < 0) {
      throw Error(fmt::format("rank {}", all_.size()),
                  std::string("cannot be started: ") + std::strerror(errno),
                  "raise the limit on processes (ulimit -u)");
    }
    all_.push_back(std::move(rank));
  }

  bool is_running() const {
    return std::ranges::any_of(all_, [](const Rank& rank) { return !rank.status; });
  }

  // The rank whose failure is the cause of all others; absent while there is none.
  std::optional<std::size_t> cause() const { return cause_; }
  const Rank& operator[](std::size_t rank) const { return all_[rank]; }

  // Takes notice of those that have ended.
  void reap() {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      int status = 0;
      if (all_[i].status || waitpid(all_[i].pid, &status, WNOHANG) != all_[i].pid) continue;
      all_[i].status = status;
      all_[i].has_failed = status != 0 && (ended_by_ == 0 || is_death(status));
      if (all_[i].has_failed && outranks_cause(status)) cause_ = i;
    }
  }

  // SIGTERM, and SIGKILL after `grace` or when somebody asks again.
  void end(milliseconds grace) {
    ended_by_ = SIGTERM;
    send(SIGTERM);
    send(SIGCONT);
    await_all(grace);
    if (!is_running()) return;
    ended_by_ = SIGKILL;
    send(SIGKILL);
    await_all(kReapLimit);
  }

  // Wait at most `limit`, until a rank or all have ended.
  void await(std::size_t rank, milliseconds limit) {
    await_while(limit, [&] { return !all_[rank].status; });
  }
  void await_all(milliseconds limit) {
    await_while(limit, [&] { return is_running(); });
  }

  std::size_t size() const { return all_.size(); }

 private:
  template <typename Condition>
  void await_while(milliseconds limit, const Condition& condition) {
    const auto deadline = steady_clock::now() + limit;
    for (reap(); condition(); reap()) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now()) +
                        milliseconds(1);
      if (left.count() <= 0 || signals_.next_ending(std::min(left, kTick)) != 0) return;
    }
  }

  void send(int number) const {
    for (const Rank& rank : all_) {
      if (!rank.status) kill(rank.pid, number);
    }
  }

  // By a signal that is not ours.
  bool is_death(int status) const { return WIFSIGNALED(status) && WTERMSIG(status) != ended_by_; }

  // The first failure is the cause; but a death outranks an exit code: peers of a rank that is
  // killed fail, too, and may be seen before it.
  bool outranks_cause(int status) const {
    return !cause_ || (is_death(status) && !WIFSIGNALED(*all_[*cause_].status));
  }

  const SignalQueue& signals_;
  std::vector<Rank> all_;
  std::optional<std::size_t> cause_;
  int ended_by_ = 0;  // the last signal that we sent
};

bool is_usage(const Rank& rank) {
  return rank.status && WIFEXITED(*rank.status) && WEXITSTATUS(*rank.status) == kWrongUsage;
}

std::string words_of(const Rank& rank, std::size_t number) {
  if (!rank.said || !rank.has_failed) return "";
  std::string words;
  const std::string path = fmt::format("/proc/self/fd/{}", fileno(rank.said.get()));
  for (const std::string& line : last_lines(path, kMostLines)) {
    words += fmt::format("rank {}: {}\n", number, line);
  }
  return words;
}

RanksOutcome interrupted(int number) {
  return {128 + number, "ddpprof: train: interrupted; every rank was ended\n"};
}

// What a failed run ends with, once all ranks are gone.
RanksOutcome failure(const Ranks& ranks, std::size_t cause) {
  const int status = *ranks[cause].status;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) return interrupted(SIGINT);
  RanksOutcome outcome{.exit_code = exit_code_of(status), .words = {}};
  if (is_usage(ranks[cause]) && is_usage(ranks[0])) return outcome;  // rank 0 has said it
  for (std::size_t i = 0; i < ranks.size(); ++i) outcome.words += words_of(ranks[i], i);
  if (cause != 0 || WIFSIGNALED(status)) {
    outcome.words +=
        fmt::format("ddpprof: rank {}: {}; the other ranks were ended\n", cause, exit_text(status));
  }
  return outcome;
}

}  // namespace

void become_trainer(const LaunchPlan& plan, const std::filesystem::path& program) {
  check_trainer(program);
  std::vector<std::string> arguments = plan.arguments;
  arguments.insert(arguments.begin(), program.string());
  std::vector<std::string> environment = merged_environment(plan.environment, plan.unset);
  std::fflush(nullptr);
  execve(program.c_str(), pointers(arguments).data(), pointers(environment).data());
  throw Error(program.filename().string(),
              std::string("cannot be started: ") + std::strerror(errno));
}

RanksOutcome run_ranks(const LaunchPlan& plan, const std::filesystem::path& program,
                       milliseconds grace) {
  check_trainer(program);
  const HeldPort port;
  const SignalQueue signals;
  Ranks ranks(signals);
  std::map<std::string, std::string> shared = plan.environment;
  for (const auto& [name, value] : plan.defaults) {
    if (std::getenv(name.c_str()) == nullptr) shared.emplace(name, value);
  }
  for (std::int32_t rank = 0; rank < plan.processes; ++rank) {
    auto set = rank_environment(rank, plan.processes, port.number());
    set.insert(shared.begin(), shared.end());
    ranks.start(program, plan.arguments, merged_environment(set, plan.unset));
  }
  while (ranks.is_running() && !ranks.cause()) {
    const int number = signals.next_ending(kTick);
    if (number != 0) {
      ranks.end(grace);
      return interrupted(number);
    }
    ranks.reap();
  }
  if (!ranks.cause()) return {};
  const Rank& first = ranks[*ranks.cause()];
  if (is_usage(first)) {
    ranks.await(0, grace);
  } else if (WIFEXITED(*first.status)) {
    ranks.await_all(kAftermath);
  }
  ranks.end(grace);
  return failure(ranks, *ranks.cause());
}

}  // namespace ddpprof

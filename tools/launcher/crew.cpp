#include "tools/launcher/crew.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <csignal>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

namespace ddpprof {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kPollMs = 200;
// After the first sign of trouble: how long the others may take to show theirs, so that the cause
// is told apart from its consequences.
constexpr milliseconds kAftermath{800};
constexpr std::size_t kLogLines = 8;

volatile std::sig_atomic_t interrupted = 0;

void on_signal(int) { interrupted = 1; }

void check_interrupt() {
  if (interrupted)
    throw Error("compare", "interrupted; every trainer was ended, nothing is reported");
}

std::string log_tail(const Process& process) {
  std::string text;
  for (const std::string& line : last_lines(process.log(), kLogLines)) text += "\n  | " + line;
  return text.empty() ? "; its log is empty" : "; its last log lines:" + text;
}

}  // namespace

InterruptScope::InterruptScope() {
  struct sigaction action = {};
  action.sa_handler = on_signal;  // no SA_RESTART: poll() returns at once
  for (const int number : kSignals) {
    struct sigaction before = {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
}

InterruptScope::~InterruptScope() {
  for (const int number : kSignals) {
    struct sigaction now = {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler == on_signal) signal(number, SIG_DFL);
  }
}

Crew::Crew(milliseconds silence_limit, OnProgress on_progress)
    : silence_limit_(silence_limit), on_progress_(std::move(on_progress)) {}

std::size_t Crew::start(ProcessOptions options) {
  members_.push_back({.process = Process(std::move(options)), .heard = steady_clock::now()});
  return members_.size() - 1;
}

void Crew::send(const std::vector<std::size_t>& to, const Order& order) {
  const std::string line = to_line(order);
  for (const std::size_t index : to) {
    Member& member = members_[index];
    member.heard = steady_clock::now();
    member.may_leave = std::holds_alternative<FinishOrder>(order);
    if (!member.process.send(line)) fail(index);
  }
}

void Crew::listen(int timeout_ms) {
  std::vector<pollfd> sockets;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].at_end) continue;
    sockets.push_back({members_[i].process.descriptor(), POLLIN, 0});
    owners.push_back(i);
  }
  poll(sockets.data(), sockets.size(), timeout_ms);
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if (sockets[i].revents == 0) continue;
    Member& member = members_[owners[i]];
    member.at_end = !member.process.receive(member.inbox);
    member.heard = steady_clock::now();
  }
}

// The next message of one of `from` that is not progress.
Message Crew::next_message(const std::vector<std::size_t>& from, std::size_t& sender) {
  for (;;) {
    check_interrupt();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& member = members_[i];
      while (!member.inbox.empty()) {
        Message message = parse_message(member.inbox.front());
        if (std::holds_alternative<ErrorMessage>(message)) fail(i);
        if (const auto* progress = std::get_if<ProgressMessage>(&message)) {
          member.inbox.erase(member.inbox.begin());
          member.stage = fmt::format("{}, step {} of {}", progress->stage, progress->step,
                                     progress->steps_count);
          on_progress_(member.process.name(), *progress);
          continue;
        }
        if (std::ranges::find(from, i) == from.end()) break;  // for a later call
        member.inbox.erase(member.inbox.begin());
        sender = i;
        return message;
      }
      if (member.at_end && !member.may_leave) fail(i);
    }
    const auto now = steady_clock::now();
    std::vector<std::size_t> silent;
    for (const std::size_t i : from) {
      if (members_[i].at_end) fail(i);
      if (now - members_[i].heard > silence_limit_) silent.push_back(i);
    }
    if (!silent.empty()) fail_silent(silent);
    listen(kPollMs);
  }
}

void Crew::await_exit(const std::vector<std::size_t>& which) {
  for (const std::size_t index : which) {
    Member& member = members_[index];
    const auto deadline = steady_clock::now() + silence_limit_;
    auto status = member.process.wait(0);
    while (!status && steady_clock::now() < deadline) {
      check_interrupt();
      status = member.process.wait(kPollMs);
    }
    if (!status || *status != 0) fail(index);
    member.at_end = true;
  }
}

std::optional<ErrorMessage> Crew::error_of(Member& member) {
  for (const std::string& line : member.inbox) {
    Message message = parse_message(line);
    if (auto* error = std::get_if<ErrorMessage>(&message)) return std::move(*error);
  }
  return std::nullopt;
}

// `first` is the process that showed the first sign. Of all that show one soon after, the cause is
// a death without a word (its peers' errors are consequences), then the first reported error.
void Crew::fail(std::size_t first) {
  const auto deadline = steady_clock::now() + kAftermath;
  for (auto now = steady_clock::now(); now < deadline; now = steady_clock::now()) {
    listen(static_cast<int>(std::chrono::duration_cast<milliseconds>(deadline - now).count()) + 1);
    if (std::ranges::all_of(members_, &Member::at_end)) break;
  }
  std::optional<std::size_t> silent_death, reported;
  for (std::size_t offset = 0; offset < members_.size(); ++offset) {
    const std::size_t i = (first + offset) % members_.size();
    Member& member = members_[i];
    const bool has_error = error_of(member).has_value();
    if (has_error && !reported) reported = i;
    if (member.at_end && !has_error && !member.may_leave && !silent_death) silent_death = i;
  }
  const std::size_t cause = silent_death.value_or(reported.value_or(first));
  Member& member = members_[cause];
  std::string hint = "its whole log: " + member.process.log().string();
  if (const auto error = error_of(member)) {
    // Wrong usage is wrong for every trainer alike: the trainer's name would only confuse.
    if (error->is_usage) throw UsageError(error->subject, error->problem, error->hint);
    throw Error(member.process.name() + ": " + error->subject, error->problem,
                error->hint.empty() ? hint : error->hint + "; " + hint);
  }
  const auto status = member.process.wait(2000);
  if (last_lines(member.process.log(), 1).empty()) hint.clear();
  throw Error(member.process.name(),
              (status ? exit_text(*status) : "closed its control socket") + " in " + member.stage +
                  log_tail(member.process),
              hint);
}

// Ranks wait for each other: when one hangs the others fall silent with it, so all are named.
void Crew::fail_silent(const std::vector<std::size_t>& silent) {
  std::string names, details;
  for (const std::size_t i : silent) {
    const Process& process = members_[i].process;
    names += (names.empty() ? "" : ", ") + process.name();
    details +=
        fmt::format("\n  {} was in {}{}", process.name(), members_[i].stage, log_tail(process));
  }
  throw Error(names,
              fmt::format("no sign of life for {} s{}",
                          std::chrono::duration<double>(silence_limit_).count(), details),
              "if its steps are just slow, raise --timeout; logs: " +
                  members_[silent.front()].process.log().parent_path().string());
}

}  // namespace ddpprof

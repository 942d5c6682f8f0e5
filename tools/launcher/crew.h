// The trainer processes of one run: started, listened to, and ended together.
#pragma once

#include "profiler/formats/control.h"
#include "tools/launcher/process.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

// Guarantees: when any call throws, or the crew is destroyed, no process of it is left.
class Crew {
 public:
  using OnProgress = std::function<void(const std::string& name, const ProgressMessage&)>;

  // A process that was asked for something and says nothing for `silence_limit` counts as hung.
  Crew(std::chrono::milliseconds silence_limit, OnProgress on_progress);

  // Returns the number by which the other calls know the process.
  std::size_t start(ProcessOptions options);

  void send(const std::vector<std::size_t>& to, const Order& order);

  // Waits until each of `from` has sent a T; in the order of `from`. Deaths of *any* process of the
  // crew are noticed. Throws Error (UsageError when the trainer blames the usage) that names the
  // process, what happened, what it was at, and shows the end of its log.
  template <typename T>
  std::vector<T> expect(const std::vector<std::size_t>& from);

  // Waits for the processes to exit by themselves with 0. Throws as expect().
  void await_exit(const std::vector<std::size_t>& which);

 private:
  struct Member {
    Process process;
    std::string stage = "set-up";
    std::vector<std::string> inbox = {};
    bool at_end = false;     // its side of the socket is closed
    bool may_leave = false;  // was told to finish
    std::chrono::steady_clock::time_point heard = {};
  };

  Message next_message(const std::vector<std::size_t>& from, std::size_t& sender);
  void listen(int timeout_ms);
  [[noreturn]] void fail(std::size_t first);
  [[noreturn]] void fail_silent(const std::vector<std::size_t>& silent);
  std::optional<ErrorMessage> error_of(Member& member);

  std::chrono::milliseconds silence_limit_;
  OnProgress on_progress_;
  std::vector<Member> members_;
};

// While it lives, SIGINT, SIGTERM and SIGHUP make the waiting calls above throw
// Error("compare", "interrupted …"); one that was ignored before (nohup) stays ignored. One at a
// time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

template <typename T>
std::vector<T> Crew::expect(const std::vector<std::size_t>& from) {
  std::vector<std::optional<T>> got(from.size());
  // Only those that still owe an answer are waited for: the others may leave.
  for (std::vector<std::size_t> owing = from; !owing.empty();) {
    std::size_t sender = 0;
    Message message = next_message(owing, sender);
    if (!std::holds_alternative<T>(message)) {
      throw std::logic_error(members_[sender].process.name() + " answered out of turn");
    }
    got[static_cast<std::size_t>(std::ranges::find(from, sender) - from.begin())] =
        std::get<T>(std::move(message));
    std::erase(owing, sender);
  }
  std::vector<T> out;
  for (auto& value : got) out.push_back(std::move(*value));
  return out;
}

}  // namespace ddpprof

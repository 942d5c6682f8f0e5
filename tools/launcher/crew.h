// The trainer processes of one run: started, listened to, and ended together.
#pragma once

#include "profiler/formats/control.h"
#include "tools/launcher/process.h"

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

// SIGINT, SIGTERM and SIGHUP make the waiting calls above throw Error("ddpprof", "interrupted").
void end_on_signals();

template <typename T>
std::vector<T> Crew::expect(const std::vector<std::size_t>& from) {
  std::vector<std::optional<T>> got(from.size());
  for (std::size_t missing = from.size(); missing > 0;) {
    std::size_t sender = 0;
    Message message = next_message(from, sender);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != sender) continue;
      if (!std::holds_alternative<T>(message) || got[i]) {
        throw std::logic_error(members_[sender].process.name() + " answered out of turn");
      }
      got[i] = std::get<T>(std::move(message));
      --missing;
    }
  }
  std::vector<T> out;
  for (auto& value : got) out.push_back(std::move(*value));
  return out;
}

}  // namespace ddpprof

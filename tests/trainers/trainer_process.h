// Real ddpprof-train processes for the tests. Which program: the environment variable
// DDPPROF_TRAIN_PROGRAM, else the compile definition of that name.
#pragma once

#include "profiler/formats/control.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ddpprof::test {

using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

// A folder of its own, removed by the destructor.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Guarantees: killed and reaped by the destructor; sees none of the launcher variables of the test
// itself.
class TrainerProcess {
 public:
  explicit TrainerProcess(Arguments arguments, const Environment& environment = {},
                          bool with_control = false);
  ~TrainerProcess();
  TrainerProcess(const TrainerProcess&) = delete;
  TrainerProcess& operator=(const TrainerProcess&) = delete;

  // The exit code, or 128 + the signal; absent when it still runs after `timeout_s`.
  std::optional<int> wait(double timeout_s = 100);
  std::string output() const;
  std::string error() const;
  pid_t pid() const { return pid_; }

  // With control: the controller's end. Absent at the end of the stream or after `timeout_s`.
  void send(const Order& order) const { send_text(to_line(order)); }
  void send_text(const std::string& line) const;
  std::optional<Message> receive(double timeout_s = 100);
  // The next message that is not about progress.
  std::optional<Message> receive_news(double timeout_s = 100);
  void hang_up();

 private:
  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int control_ = -1;
  std::string unread_;
  std::optional<int> code_;
};

// A port nobody listens on now.
std::int32_t free_port();

// The launcher's variables of one rank.
Environment rank_environment(int rank, int world_size, std::int32_t port);

// Runs all ranks of a ddp job, with the same arguments, to their end.
// Shape: one exit code a rank.
std::vector<int> run_ranks(int world_size, const Arguments& arguments);

}  // namespace ddpprof::test

// A trainer process and the socket it speaks through.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace ddpprof {

// Throws Error when it is not there or cannot be run.
void check_trainer(const std::filesystem::path& program);

struct ProcessOptions {
  std::string name;               // "ddp rank 1", as messages call it
  std::filesystem::path program;  // full path
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  // on top of ours
  std::vector<std::string> unset;                  // variables of ours it must not see
  std::filesystem::path log;                       // gets its standard output and error; truncated
};

// Guarantees: the child leads a process group of its own, is killed by the kernel when this
// process dies, has no descriptors of ours but its socket, and is ended and reaped by the
// destructor. Its arguments get `--control-fd <n>` appended.
class Process {
 public:
  // Throws Error when the program or the log cannot be opened or no process can be made.
  explicit Process(ProcessOptions options);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;

  const std::string& name() const { return name_; }
  const std::filesystem::path& log() const { return log_; }
  int descriptor() const { return socket_; }

  // False when the other side is gone.
  bool send(std::string_view line) noexcept;

  // Reads what is there without waiting. Appends whole lines to `lines`; false at the end of the
  // stream.
  bool receive(std::vector<std::string>& lines);

  // The wait status once the process has ended. Waits at most `timeout_ms`.
  std::optional<int> wait(int timeout_ms) noexcept;

  // SIGTERM to the group, and SIGKILL after `grace_ms`; then reaped.
  void end(int grace_ms) noexcept;

 private:
  std::string name_;
  std::filesystem::path log_;
  pid_t pid_ = -1;
  int socket_ = -1;
  std::optional<int> status_;
  std::string partial_;
};

// "exit code 1", "killed by signal 9 (Killed)".
std::string exit_text(int wait_status);

// The last `count` lines of a file; empty when it cannot be read.
std::vector<std::string> last_lines(const std::filesystem::path& path, std::size_t count);

}  // namespace ddpprof

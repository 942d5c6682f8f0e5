// What all commands share: how main runs the chosen one, and what it may know of the outside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ddpprof {

// Read once by main; nothing below main looks at the clock, the environment or the terminal.
struct Surroundings {
  std::vector<std::string> command_line;
  std::filesystem::path program_folder;  // where ddpprof itself lies
  std::int64_t unix_seconds = 0;
  std::function<std::int64_t()> now_ns;
  bool stderr_is_terminal = false;
  std::optional<std::string> cuda_visible_devices;
  std::map<std::string, std::string> nccl_variables;  // NCCL_… of the environment
  std::string search_path;                            // PATH: folders of programs, "a:b"
};

// Set by the chosen command's parser, called once by main; returns the exit code.
using Action = std::function<int(const Surroundings&)>;

// One command: a line in `ddpprof --help`, a manual in `ddpprof <name> --help`, its flags and what
// it does.
struct CommandRow {
  const char* name;
  const char* summary;
  const char* manual;  // stands above the flags
  void (*add_flags)(CLI::App& command, Action& action);
  // What `--help` says below the flags, where it takes a look around; none when null.
  std::string (*more_help)(const Surroundings&) = nullptr;
};

}  // namespace ddpprof

// What a program says when it is asked for something by a flag.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace ddpprof {

struct Answer {
  std::optional<int> status;  // of wait(2); absent when it has not ended within the limit
  std::string out, err;       // about a megabyte of each at most
};

// Runs `program flag` without standard input. Nothing of it is left running.
// Throws Error when no process can be made; a program that cannot be run ends with exit code 127.
Answer ask(const std::filesystem::path& program, const std::string& flag,
           std::chrono::milliseconds limit);

}  // namespace ddpprof

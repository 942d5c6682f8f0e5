// Runs a program as a user would and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace ddpprof::test {

struct Outcome {
  int exit_code = -1;  // 128 + n when a signal ended it
  std::string out;
  std::string err;
  double seconds = 0;
};

// Standard input is empty. `environment`: "NAME=value" strings on top of ours.
Outcome run_program(const std::vector<std::string>& command,
                    const std::vector<std::string>& environment = {});

// The program to test: what the environment variable names, else the one that was built.
std::string program_path(const char* variable, const char* built);

// Live processes whose command line holds `text`.
int processes_with(const std::string& text);

}  // namespace ddpprof::test

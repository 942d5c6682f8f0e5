// The command line of ddpprof-train.
#pragma once

#include "trainers/common/options.h"

#include <optional>
#include <string>
#include <vector>

namespace ddpprof {

struct CommandLine {
  TrainOptions options;
  // `--help` or `--version`: print this and leave.
  std::optional<std::string> text;
};

// Fills in the workload's own values. Opens nothing.
// Shape: `arguments` without the program's name.
// Throws: UsageError.
CommandLine parse_command_line(std::vector<std::string> arguments);

}  // namespace ddpprof

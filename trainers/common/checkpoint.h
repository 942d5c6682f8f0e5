// The state of a training in a file: a safetensors file (workloads/safetensors.h), so that any
// reader of those gets the weights, with no code in it.
#pragma once

#include "trainers/common/parameters.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ddpprof {

struct RunState {
  std::int64_t step = 0;  // optimizer steps that were made
  // What the run that goes on must have in common with the one that stopped: flag and value.
  std::vector<std::pair<std::string, std::string>> identity;
  std::string layout;  // see Strategy::layout()
  // All that is updated. Reading writes into these very tensors.
  NamedTensors tensors;
  // States of the generators of random numbers, on the CPU: put back where the file has exactly
  // these, as only a run on as many devices has.
  NamedTensors random;
};

// Whole, in the place of an older one, or not at all. `halfway` is called when half of the bytes
// are written.
// Throws: Error when it cannot be written.
void write_checkpoint(const std::filesystem::path& path, const RunState& state,
                      const std::function<void()>& halfway = {});

// Nothing changes before the whole file was found sound: its checksum (CRC-32 over header and
// data), its identity, and each tensor's name, type and shape. Returns whether `random` was put
// back, too.
// Throws: Error, UsageError where the identity differs, with the flag to give.
bool read_checkpoint(const std::filesystem::path& path, RunState& state);

}  // namespace ddpprof

#include "trainers/common/launcher_environment.h"

#include "profiler/trace/error.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>

namespace ddpprof {
namespace {

constexpr const char* kHint =
    "start ddp by `ddpprof train --strategy ddp ...`, or by `torchrun --no-python --nproc-per-node "
    "N PROGRAM --strategy ddp ...`, PROGRAM being this one";

std::string required_text(const Variables& variables, const char* name) {
  const char* value = variables(name);
  if (value == nullptr || *value == '\0') {
    throw UsageError(name, "is not set, and ddp needs it", kHint);
  }
  return value;
}

std::int32_t to_number(const char* name, std::string_view text, std::int64_t low,
                       std::int64_t high) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || end != text.data() + text.size() || number < low || number > high) {
    throw UsageError(std::string(name) + "=" + std::string(text),
                     "is not a number from " + std::to_string(low) + " to " + std::to_string(high),
                     kHint);
  }
  return static_cast<std::int32_t>(number);
}

}  // namespace

LauncherEnvironment read_launcher_environment(const Variables& variables) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  LauncherEnvironment result;
  result.world_size = to_number("WORLD_SIZE", required_text(variables, "WORLD_SIZE"), 1, kMost);
  result.rank = to_number("RANK", required_text(variables, "RANK"), 0, result.world_size - 1);
  const char* local_rank = variables("LOCAL_RANK");
  result.local_rank =
      local_rank == nullptr ? result.rank : to_number("LOCAL_RANK", local_rank, 0, kMost);
  const char* local_world_size = variables("LOCAL_WORLD_SIZE");
  result.local_world_size =
      local_world_size == nullptr
          ? result.world_size
          : to_number("LOCAL_WORLD_SIZE", local_world_size, 1, result.world_size);
  result.master_address = required_text(variables, "MASTER_ADDR");
  result.master_port = to_number("MASTER_PORT", required_text(variables, "MASTER_PORT"), 0, 65535);
  const char* restart_count = variables("TORCHELASTIC_RESTART_COUNT");
  if (restart_count != nullptr) {
    result.restart_count = restart_count;
  }
  const char* agent = variables("TORCHELASTIC_USE_AGENT_STORE");
  result.launcher_serves_store = agent != nullptr && std::string_view(agent) == "True";
  return result;
}

}  // namespace ddpprof

// What a launcher (torchrun, ddpprof) tells a rank through the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace ddpprof {

struct LauncherEnvironment {
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::int32_t local_rank = 0;
  std::int32_t local_world_size = 1;  // ranks on this host
  std::string master_address;
  std::int32_t master_port = 0;     // 0: rank 0 takes a free one and tells it
  std::string restart_count = "0";  // a job that is started again must not read old keys
  // The launcher serves the store itself: rank 0 is a client as all others.
  bool launcher_serves_store = false;

  bool serves_store() const { return rank == 0 && !launcher_serves_store; }
};

// A variable's value; null when it is not set. std::getenv fits.
using Variables = std::function<const char*(const char*)>;

// Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and
// TORCHELASTIC_USE_AGENT_STORE and TORCHELASTIC_RESTART_COUNT, the names and meanings of torchrun.
// Throws: UsageError when one that is needed is missing or is not a number in its range.
LauncherEnvironment read_launcher_environment(const Variables& variables);

}  // namespace ddpprof

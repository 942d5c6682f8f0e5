// `--link`: which way NCCL may take between the GPUs of one machine. Its transports and the
// variables that forbid them: NCCL user guide, "Environment Variables" (NCCL_P2P_DISABLE,
// NCCL_P2P_LEVEL, NCCL_SHM_DISABLE, NCCL_NET). Copies that are not NCCL's, as DP's scatter, go as
// ever.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ddpprof {

// Throws UsageError unless it is p2p, shm or socket.
void check_link(const std::string& link);

// What to set for trainers, on top of the user's own NCCL_… variables; nothing for p2p, NCCL's own
// choice where GPUs reach each other.
// Throws UsageError as check_link and where one of the user's variables forbids that way.
std::map<std::string, std::string> link_environment(
    const std::string& link, const std::map<std::string, std::string>& nccl_variables);

// "shared memory".
std::string_view link_text(const std::string& link);

}  // namespace ddpprof

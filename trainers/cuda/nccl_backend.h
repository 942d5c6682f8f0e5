// Which NCCL is loaded.
#pragma once

#include <string>

namespace ddpprof {

// "2.28.9".
std::string nccl_version();

// Throws: Error when it is not the one this was compiled for.
void check_nccl();

}  // namespace ddpprof

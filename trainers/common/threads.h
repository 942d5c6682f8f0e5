// How many threads one device's operators use.
#pragma once

#include <cstdint>

namespace ddpprof {

// The processors this process may run on, cgroup or taskset limits included; at least 1.
std::int64_t usable_cores();

// max(1, cores / devices): devices that share a machine do not take each other's cores.
constexpr std::int64_t default_threads(std::int64_t cores, std::int64_t devices) {
  return cores / devices < 1 ? 1 : cores / devices;
}

}  // namespace ddpprof

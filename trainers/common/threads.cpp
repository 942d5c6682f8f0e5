#include "trainers/common/threads.h"

#include <thread>

#include <sched.h>

namespace ddpprof {

std::int64_t usable_cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    return CPU_COUNT(&set);
  }
  const unsigned cores = std::thread::hardware_concurrency();
  return cores == 0 ? 1 : cores;
}

}  // namespace ddpprof

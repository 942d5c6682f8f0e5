#include "trainers/common/data_cost.h"

#include "profiler/record/clocks.h"

namespace ddpprof {

void compute_for(std::int64_t cpu_ns, const std::stop_token& stop) {
  const std::int64_t end_ns = thread_cpu_ns() + cpu_ns;
  while (thread_cpu_ns() < end_ns && !stop.stop_requested()) {
  }
}

}  // namespace ddpprof

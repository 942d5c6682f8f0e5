#include "trainers/common/data_cost.h"

#include "profiler/record/clocks.h"
#include "trainers/common/sampler.h"

#include <atomic>

namespace ddpprof {
namespace {

constexpr int kRoundsBetweenLooks = 256;  // some 0.5 us: looking is a call into the kernel

std::atomic<std::uint64_t> sink;  // so that the computing has a result

}  // namespace

void compute_for(std::int64_t cpu_ns, const std::stop_token& stop) {
  const std::int64_t end_ns = thread_cpu_ns() + cpu_ns;
  auto state = static_cast<std::uint64_t>(end_ns);
  while (thread_cpu_ns() < end_ns && !stop.stop_requested()) {
    for (int i = 0; i < kRoundsBetweenLooks; ++i) {
      state = mix(state);
    }
  }
  sink.store(state, std::memory_order_relaxed);
}

}  // namespace ddpprof

#include "tests/gpu/gpus.h"

#include "profiler/formats/probe.h"

#include <algorithm>
#include <stdexcept>

namespace ddpprof::test {

int gpus_count() {
  static const int count = [] {
    TrainerProcess process({"--probe"});
    if (process.wait() != 0) {
      throw std::runtime_error("--probe failed: " + process.error());
    }
    return static_cast<int>(parse_probe(process.output()).devices.size());
  }();
  return count;
}

int ranks_count() { return std::min(gpus_count(), 2); }

Arguments two_replicas() { return gpus_count() >= 2 ? Arguments{} : Arguments{"--devices", "0,0"}; }

}  // namespace ddpprof::test

// Drawn traces as the ranks of one job.
#pragma once

#include "profiler/trace/trace.h"
#include "tests/support/draw.h"

#include <cstdint>
#include <vector>

namespace ddpprof::test {

// Ranks 0, 1, … of one host, in the order given.
inline Run ranks(std::vector<Trace> traces) {
  Run run;
  for (Trace& trace : traces) {
    trace.info.rank = static_cast<std::int32_t>(run.ranks.size());
    trace.info.world_size = static_cast<std::int32_t>(traces.size());
    trace.info.boot_id = "one boot";
    run.ranks.push_back(std::move(trace));
  }
  return run;
}

}  // namespace ddpprof::test

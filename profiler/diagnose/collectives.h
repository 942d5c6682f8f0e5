// The same collective on all ranks: how long each rank waited in it, and how long the data took.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ddpprof {

// What the time of one rank in one collective was: wait_ns + transfer_ns = its duration. Waiting
// comes first: the data move once the last one needed is there.
struct CollectiveTiming {
  std::int64_t wait_ns = 0;
  std::int64_t transfer_ns = 0;

  bool operator==(const CollectiveTiming&) const = default;
};

struct MatchedCollectives {
  // Shape: a list a trace of the run, a timing a collective of it; absent: dropped, because it
  // does not match or says too little.
  std::vector<std::vector<std::optional<CollectiveTiming>>> timings;
  // Whether any wait can be known: no rank is missing and something matches.
  bool are_known = false;
  // How far apart two ranks' clocks may be: an error of each single wait and transfer.
  std::int64_t uncertainty_ns = 0;
  std::vector<Issue> issues;
};

// Collectives match when communicator, sequence, kind and bytes agree; several that agree in all
// of these match in order of their starts. The members are all ranks (and devices of one process)
// that ever use the communicator: a collective that one of them lacks is dropped and counted. So
// is one that ended on a member before it began on another, which no clock error explains.
//
// Every member waits for the last of those it needs data from:
//     wait = max(0, min(last start over those, own end) - own start), transfer = duration - wait
// For all-reduce, all-gather, reduce-scatter and barrier those are all members; for broadcast and
// scatter the root; for reduce and gather the root needs all, the others nobody; for receive the
// sender.
// Traces without a common clock (other boot ids and no measured uncertainty): transfer = the
// shortest duration over the members, of the first group of kinds only, and an issue says so.
// Source: profiler/README.md, "A collective's duration contains waiting".
MatchedCollectives match_collectives(const Run& run);

}  // namespace ddpprof

// Who takes part in the collectives of the simulated machines, and waits for whom.
#pragma once

#include "tests/diagnose/machine_state.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace ddpprof::test {

// The collectives of one job: who has started its work of each.
class Meetings {
 public:
  // A kernel with a meeting starts now. It and those that waited for it learn their ends.
  void arrive(MachineState& state, std::size_t kernel);

 private:
  struct Member {
    MachineState* state = nullptr;
    std::size_t kernel = 0;
    Kernel& get() const { return state->kernels[kernel]; }
  };
  static bool may_proceed(const Member& member, const std::vector<Member>& arrived);
  std::map<std::int64_t, std::vector<Member>> arrived_;  // by sequence
};

}  // namespace ddpprof::test

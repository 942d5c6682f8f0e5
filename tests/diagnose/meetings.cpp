#include "tests/diagnose/meetings.h"

#include <algorithm>

namespace ddpprof::test {

void Meetings::arrive(MachineState& state, std::size_t kernel) {
  const std::int64_t sequence = state.kernels[kernel].action.meeting->sequence;
  std::vector<Member>& arrived = arrived_[sequence];
  arrived.push_back({&state, kernel});
  for (const Member& member : arrived) {
    Kernel& waiting = member.get();
    if (waiting.end_tick == kNever && may_proceed(member, arrived)) {
      waiting.end_tick = state.now + waiting.action.run_ticks;
    }
  }
}

bool Meetings::may_proceed(const Member& member, const std::vector<Member>& arrived) {
  const Meeting& meeting = *member.get().action.meeting;
  const bool is_broadcast = meeting.kind == CollectiveKind::broadcast;
  const bool needs_all =
      !is_broadcast && (meeting.kind != CollectiveKind::reduce || meeting.is_root);
  if (needs_all) return arrived.size() == meeting.members;
  if (!is_broadcast || meeting.is_root) return true;
  return std::ranges::any_of(
      arrived, [](const Member& other) { return other.get().action.meeting->is_root; });
}

}  // namespace ddpprof::test

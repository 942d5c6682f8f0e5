// What the host threads of the simulated machine do.
#include "tests/diagnose/machine.h"

#include <algorithm>

namespace ddpprof::test {

// Runs every thread up to its next action that takes time. Whether anything moved.
bool Machine::advance_threads() {
  bool moved = false;
  for (std::size_t i = 0; i < state_.threads.size(); ++i) {
    while (can_advance(i)) {
      perform(i, state_.program.threads[i].actions[state_.threads[i].next]);
      moved = true;
    }
  }
  return moved;
}

bool Machine::can_advance(std::size_t i) {
  HostThread& thread = state_.threads[i];
  if (!thread.is_running || thread.is_done || thread.busy_until > state_.now) return false;
  if (thread.blocked_in && !ends_blocking_launch(i)) return false;
  if (thread.next == state_.program.threads[i].actions.size()) {
    thread.is_done = true;
    recording_.end_life(i, state_.now);
    return false;
  }
  const Action& action = state_.program.threads[i].actions[thread.next];
  switch (action.kind) {
    case ActionKind::join_thread:
      can_advance(action.thread);  // notices its end
      return state_.threads[action.thread].is_done;
    case ActionKind::await:
      return state_.signals[action.signal] > 0;
    case ActionKind::synchronize:
    case ActionKind::synchronize_stream:
    case ActionKind::synchronize_event:
      return may_synchronize(thread, action);
    default:
      return true;
  }
}

// Whether the thread goes on at once: it returns a tick after the work's end, if that is now.
bool Machine::ends_blocking_launch(std::size_t i) {
  HostThread& thread = state_.threads[i];
  if (!state_.is_finished(*thread.blocked_in)) return false;
  Kernel& kernel = state_.kernels[*thread.blocked_in];
  kernel.return_tick = thread.busy_until = state_.now + 1;
  if (kernel.action.is_recorded) {
    record_call(i, {kernel.launch_tick, kernel.return_tick}, kernel.correlation, true);
  }
  thread.blocked_in.reset();
  return false;
}

bool Machine::may_synchronize(HostThread& thread, const Action& action) {
  if (action.kind == ActionKind::synchronize) {
    if (!thread.synchronizing_since) thread.synchronizing_since = state_.now;
    return std::ranges::all_of(device_of(action).queues,
                               [](const auto& entry) { return entry.second.empty(); });
  }
  if (!thread.synchronizing_since) {
    thread.synchronizing_since = state_.now;
    thread.awaited = action.kind == ActionKind::synchronize_stream
                         ? last_on(action.device, action.stream)
                         : state_.events[action.event];
  }
  return !thread.awaited || state_.is_finished(*thread.awaited);
}

void Machine::perform(std::size_t i, const Action& action) {
  HostThread& thread = state_.threads[i];
  ++thread.next;
  switch (action.kind) {
    case ActionKind::work:
      thread.busy_until = state_.now + action.ticks;
      break;
    case ActionKind::enter:
      thread.open.emplace_back(action.phase, state_.now);
      break;
    case ActionKind::leave:
      recording_.add_scope(i, thread.open.back().first, {thread.open.back().second, state_.now});
      thread.open.pop_back();
      break;
    case ActionKind::begin_step:
      begin_step();
      break;
    case ActionKind::end_step:
      state_.steps.back().span.end_ns = state_.now * kTickNs;
      break;
    case ActionKind::launch:
      launch(i, action);
      break;
    case ActionKind::synchronize:
    case ActionKind::synchronize_stream:
    case ActionKind::synchronize_event:
      synchronize(i);
      break;
    case ActionKind::record_event:
      state_.events[action.event] = last_on(action.device, action.stream);
      if (action.has_call) call(i, action);
      break;
    case ActionKind::call:
      call(i, action);
      break;
    case ActionKind::start_thread:
      state_.threads[action.thread].is_running = true;
      recording_.begin_life(action.thread, state_.now);
      break;
    case ActionKind::join_thread:
      break;
    case ActionKind::wait_stream:
      wait_stream(i, action);
      break;
    case ActionKind::signal:
      ++state_.signals[action.signal];
      break;
    case ActionKind::await:
      --state_.signals[action.signal];
      break;
  }
}

void Machine::begin_step() {
  state_.steps.push_back({.index = static_cast<std::int64_t>(state_.steps.size()),
                          .visit = 0,
                          .span = {state_.now * kTickNs, state_.now * kTickNs}});
  book_.begin_step();
}

void Machine::synchronize(std::size_t i) {
  HostThread& thread = state_.threads[i];
  thread.busy_until = state_.now + 1;
  record_call(i, {*thread.synchronizing_since, state_.now + 1}, 0, true);
  thread.synchronizing_since.reset();
  thread.awaited.reset();
}

void Machine::call(std::size_t i, const Action& action) {
  state_.threads[i].busy_until = state_.now + action.ticks;
  record_call(i, {state_.now, state_.now + action.ticks}, recording_.next_correlation(), false);
}

void Machine::wait_stream(std::size_t i, const Action& action) {
  const auto other = last_on(action.other_device.value_or(action.device), action.other_stream);
  if (other) device_of(action).stream_waits[action.stream].push_back(*other);
  if (action.has_call) call(i, action);
}

void Machine::record_call(std::size_t i, Span ticks, std::int64_t correlation, bool synchronizes,
                          bool is_doubled) {
  recording_.add_call(i, ticks, correlation, synchronizes, is_doubled);
  state_.threads[i].last_call = RecordedCall{synchronizes, ticks.end_ns};
}

}  // namespace ddpprof::test

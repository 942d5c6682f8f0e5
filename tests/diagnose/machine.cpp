#include "tests/diagnose/machine.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ddpprof::test {
namespace {

// The phase that work has whatever the thread that launches it is in.
std::optional<Phase> own_phase(const Kernel& kernel) {
  const auto& meeting = kernel.action.meeting;
  if (meeting && meeting->gradient && meeting->kind == CollectiveKind::all_reduce) {
    return Phase::all_reduce;
  }
  return kernel.captured;
}

}  // namespace

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

Machine::Machine(const Program& program, Meetings& meetings)
    : state_{.program = program,
             .threads = std::vector<HostThread>(program.threads.size()),
             .devices = std::vector<DeviceState>(static_cast<std::size_t>(program.devices_count)),
             .kernels = {},
             .steps = {},
             .events = {},
             .signals = {}},
      meetings_(meetings),
      book_(state_),
      recording_(program) {
  state_.threads.front().is_running = true;
}

bool Machine::is_over() const {
  if (!state_.threads.front().is_done) return false;
  for (std::size_t i = 0; i < state_.kernels.size(); ++i) {
    if (!state_.is_finished(i)) return false;
  }
  return true;
}

void Machine::run_hosts() {
  finish_kernels();
  while (advance_threads()) {
  }
  settle_launches();
}

void Machine::run_devices() {
  for (std::size_t d = 0; d < state_.devices.size(); ++d) {
    for (auto& [stream, queue] : state_.devices[d].queues) {
      if (!queue.empty() && may_start(state_.kernels[queue.front()])) start(queue.front(), d);
    }
  }
}

void Machine::book() {
  for (const DeviceState& device : state_.devices) {
    for (const auto& [stream, queue] : device.queues) {
      if (queue.empty()) continue;
      Kernel& kernel = state_.kernels[queue.front()];
      if (kernel.start_tick != kNever && kernel.end_tick == kNever) ++kernel.waited_ticks;
    }
  }
  book_.book();
  ++state_.now;
}

Simulation Machine::close() {
  Simulation simulation;
  recording_.close(state_, simulation);
  simulation.overlaps = book_.overlaps();
  simulation.truth = book_.close();
  return simulation;
}

void Machine::finish_kernels() {
  for (DeviceState& device : state_.devices) {
    for (auto& [stream, queue] : device.queues) {
      if (!queue.empty() && state_.is_finished(queue.front())) queue.pop_front();
    }
  }
}

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

void Machine::launch(std::size_t i, const Action& action) {
  HostThread& thread = state_.threads[i];
  Kernel kernel;
  kernel.action = action;
  kernel.action.parts.clear();
  kernel.thread = i;
  kernel.launch_tick = state_.now;
  if (!action.blocks) kernel.return_tick = thread.busy_until = state_.now + action.ticks;
  kernel.call_before = thread.last_call;
  if (action.is_recorded) kernel.correlation = recording_.next_correlation();
  if (action.is_recorded && !action.blocks) {
    record_call(i, {state_.now, kernel.return_tick}, kernel.correlation, false, action.is_doubled);
  }
  if (!action.parts.empty()) return launch_parts(kernel, action.parts);
  const std::size_t enqueued = enqueue(std::move(kernel));
  if (action.blocks) thread.blocked_in = enqueued;
}

void Machine::launch_parts(const Kernel& call, const std::vector<GraphPart>& parts) {
  std::optional<std::size_t> before;
  for (const GraphPart& part : parts) {
    Kernel kernel = call;
    kernel.action.stream = part.stream;
    kernel.action.activity = part.activity;
    kernel.action.run_ticks = part.run_ticks;
    kernel.action.meeting = part.meeting;
    kernel.captured = part.captured;
    if (part.follows && before) kernel.waits_for.push_back(*before);
    before = enqueue(std::move(kernel));
  }
}

std::size_t Machine::enqueue(Kernel kernel) {
  DeviceState& device = device_of(kernel.action);
  const auto waits = std::exchange(device.stream_waits[kernel.action.stream], {});
  kernel.waits_for.insert(kernel.waits_for.end(), waits.begin(), waits.end());
  device.queues[kernel.action.stream].push_back(state_.kernels.size());
  launched_.push_back(state_.kernels.size());
  state_.kernels.push_back(std::move(kernel));
  return state_.kernels.size() - 1;
}

void Machine::settle_launches() {
  for (const std::size_t launched : std::exchange(launched_, {})) {
    Kernel& kernel = state_.kernels[launched];
    const auto& open = state_.threads[kernel.thread].open;
    const Phase host = open.empty()
                           ? state_.process_phase(static_cast<std::size_t>(kernel.action.device))
                           : open.back().first;
    kernel.phase = own_phase(kernel).value_or(host);
    kernel.step = state_.steps.size() - 1;
  }
}

bool Machine::may_start(const Kernel& kernel) const {
  return kernel.start_tick == kNever &&
         kernel.launch_tick + kernel.action.arrival_ticks <= state_.now &&
         std::ranges::all_of(kernel.waits_for,
                             [&](std::size_t k) { return state_.is_finished(k); });
}

void Machine::start(std::size_t index, std::size_t device) {
  Kernel& kernel = state_.kernels[index];
  kernel.start_tick = state_.now;
  if (kernel.action.meeting) {
    meetings_.arrive(state_, index);
  } else {
    kernel.end_tick = state_.now + kernel.action.run_ticks;
  }
  if (kernel.action.is_recorded) return;
  kernel.phase = own_phase(kernel).value_or(state_.process_phase(device));
  kernel.step = state_.threads.front().is_done ? kNoStep : state_.steps.size() - 1;
}

void Machine::record_call(std::size_t i, Span ticks, std::int64_t correlation, bool synchronizes,
                          bool is_doubled) {
  recording_.add_call(i, ticks, correlation, synchronizes, is_doubled);
  state_.threads[i].last_call = RecordedCall{synchronizes, ticks.end_ns};
}

DeviceState& Machine::device_of(const Action& action) {
  return state_.devices[static_cast<std::size_t>(action.device)];
}

// What was put on a stream last and is not done.
std::optional<std::size_t> Machine::last_on(std::int32_t device, std::int64_t stream) const {
  const auto& queues = state_.devices[static_cast<std::size_t>(device)].queues;
  const auto queue = queues.find(stream);
  if (queue == queues.end() || queue->second.empty()) return std::nullopt;
  return queue->second.back();
}

Phase MachineState::process_phase(std::size_t device) const {
  for (std::size_t i = 1; i < threads.size(); ++i) {
    const auto& replica = program.threads[i].thread.replica;
    if (replica && static_cast<std::size_t>(*replica) == device && !threads[i].open.empty()) {
      return threads[i].open.back().first;
    }
  }
  return threads.front().open.empty() ? Phase::other : threads.front().open.back().first;
}

}  // namespace ddpprof::test

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
  return std::ranges::all_of(state_.devices, [&](const DeviceState& device) {
    return std::ranges::all_of(device.queues, [&](const auto& entry) {
      return entry.second.empty() || state_.is_finished(entry.second.back());
    });
  });
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
    kernel.step = current_step();
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
  if (kernel.step != kNoStep) kernel.step = current_step();
}

std::size_t Machine::current_step() const {
  return state_.threads.front().is_done ? kNoStep : state_.steps.size() - 1;
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

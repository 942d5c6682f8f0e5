#include "tests/diagnose/simulator.h"

#include "tests/diagnose/machine_state.h"
#include "tests/diagnose/tick_book.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace ddpprof::test {
namespace {

class Machine {
 public:
  explicit Machine(const Program& program)
      : state_{.program = program,
               .threads = std::vector<HostThread>(program.threads.size()),
               .devices = std::vector<DeviceState>(static_cast<std::size_t>(program.devices_count)),
               .kernels = {},
               .steps = {}},
        book_(state_),
        names_(trace_.names) {
    for (const ThreadProgram& thread : program.threads) trace_.threads.push_back(thread.thread);
    trace_.info.devices.resize(state_.devices.size());
    state_.threads.front().is_running = true;
  }

  Simulation run() {
    while (!is_over()) {
      finish_kernels();
      while (advance_threads()) {
      }
      start_kernels();
      book_.book();
      ++state_.now;
    }
    record_work();
    trace_.steps = state_.steps;
    return {.trace = std::move(trace_), .truth = book_.close()};
  }

 private:
  bool is_over() const {
    if (!state_.threads.front().is_done) return false;
    for (std::size_t i = 0; i < state_.kernels.size(); ++i) {
      if (!state_.is_finished(i)) return false;
    }
    return true;
  }

  void finish_kernels() {
    for (DeviceState& device : state_.devices) {
      for (auto& [stream, queue] : device.queues) {
        if (!queue.empty() && state_.is_finished(queue.front())) queue.pop_front();
      }
    }
  }

  // Runs every thread up to its next action that takes time. Whether anything moved.
  bool advance_threads() {
    bool moved = false;
    for (std::size_t i = 0; i < state_.threads.size(); ++i) {
      while (can_advance(i)) {
        perform(i, state_.program.threads[i].actions[state_.threads[i].next]);
        moved = true;
      }
    }
    return moved;
  }

  bool can_advance(std::size_t i) {
    HostThread& thread = state_.threads[i];
    if (!thread.is_running || thread.is_done || thread.busy_until > state_.now) return false;
    if (thread.next == state_.program.threads[i].actions.size()) {
      thread.is_done = true;
      return false;
    }
    const Action& action = state_.program.threads[i].actions[thread.next];
    if (action.kind == ActionKind::join_thread) {
      can_advance(action.thread);  // notices its end
      return state_.threads[action.thread].is_done;
    }
    if (action.kind == ActionKind::synchronize) {
      if (!thread.synchronizing_since) thread.synchronizing_since = state_.now;
      return std::ranges::all_of(device_of(action).queues,
                                 [](const auto& entry) { return entry.second.empty(); });
    }
    return true;
  }

  void perform(std::size_t i, const Action& action) {
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
        record_scope(i);
        thread.open.pop_back();
        break;
      case ActionKind::begin_step:
        state_.steps.push_back({.index = static_cast<std::int64_t>(state_.steps.size()),
                                .visit = 0,
                                .span = {state_.now * kTickNs, state_.now * kTickNs}});
        book_.begin_step();
        break;
      case ActionKind::end_step:
        state_.steps.back().span.end_ns = state_.now * kTickNs;
        break;
      case ActionKind::launch:
        launch(i, action);
        break;
      case ActionKind::synchronize:
        thread.busy_until = state_.now + 1;
        record_call(i, {*thread.synchronizing_since, state_.now + 1}, 0, true);
        thread.synchronizing_since.reset();
        break;
      case ActionKind::start_thread:
        state_.threads[action.thread].is_running = true;
        break;
      case ActionKind::join_thread:
        break;
      case ActionKind::wait_stream: {
        DeviceState& device = device_of(action);
        const auto& other = device.queues[action.other_stream];
        if (!other.empty()) device.stream_waits[action.stream].push_back(other.back());
        break;
      }
    }
  }

  void launch(std::size_t i, const Action& action) {
    DeviceState& device = device_of(action);
    HostThread& thread = state_.threads[i];
    Kernel kernel;
    kernel.action = action;
    kernel.thread = i;
    kernel.launch_tick = state_.now;
    kernel.return_tick = state_.now + action.ticks;
    kernel.call_before = thread.last_call;
    kernel.waits_for = std::exchange(device.stream_waits[action.stream], {});
    kernel.phase = thread.open.empty()
                       ? state_.process_phase(static_cast<std::size_t>(action.device))
                       : thread.open.back().first;
    kernel.step = state_.steps.size() - 1;
    thread.busy_until = kernel.return_tick;
    if (action.is_recorded) {
      kernel.correlation = ++last_correlation_;
      record_call(i, {state_.now, kernel.return_tick}, kernel.correlation, false);
    }
    device.queues[action.stream].push_back(state_.kernels.size());
    state_.kernels.push_back(std::move(kernel));
  }

  void start_kernels() {
    for (std::size_t d = 0; d < state_.devices.size(); ++d) {
      for (auto& [stream, queue] : state_.devices[d].queues) {
        if (!queue.empty() && may_start(state_.kernels[queue.front()])) {
          start(state_.kernels[queue.front()], d);
        }
      }
    }
  }

  bool may_start(const Kernel& kernel) const {
    return kernel.start_tick == kNever &&
           kernel.launch_tick + kernel.action.arrival_ticks <= state_.now &&
           std::ranges::all_of(kernel.waits_for,
                               [&](std::size_t k) { return state_.is_finished(k); });
  }

  void start(Kernel& kernel, std::size_t device) {
    kernel.start_tick = state_.now;
    kernel.end_tick = state_.now + kernel.action.run_ticks;
    if (kernel.action.is_recorded) return;
    kernel.phase = state_.process_phase(device);
    kernel.step = state_.threads.front().is_done ? kNoStep : state_.steps.size() - 1;
  }

  DeviceState& device_of(const Action& action) {
    return state_.devices[static_cast<std::size_t>(action.device)];
  }

  void record_scope(std::size_t i) {
    const auto& [phase, begin_tick] = state_.threads[i].open.back();
    Scope scope;
    scope.span = {begin_tick * kTickNs, state_.now * kTickNs};
    scope.thread = {static_cast<std::uint32_t>(i)};
    scope.phase = phase;
    scope.name = names_.intern(to_string(phase));
    trace_.scopes.push_back(scope);
  }

  void record_call(std::size_t i, Span ticks, std::int64_t correlation, bool synchronizes) {
    Call call;
    call.span = {ticks.begin_ns * kTickNs, ticks.end_ns * kTickNs};
    call.thread = {static_cast<std::uint32_t>(i)};
    call.name = names_.intern(synchronizes ? "synchronize" : "launch");
    call.correlation = correlation;
    call.synchronizes = synchronizes;
    trace_.calls.push_back(call);
    state_.threads[i].last_call = RecordedCall{synchronizes, ticks.end_ns};
  }

  void record_work() {
    for (const Kernel& kernel : state_.kernels) {
      trace_.work.push_back({.span = {kernel.start_tick * kTickNs, kernel.end_tick * kTickNs},
                             .device = kernel.action.device,
                             .stream = kernel.action.stream,
                             .activity = kernel.action.activity,
                             .name = names_.intern("kernel"),
                             .correlation = kernel.correlation});
    }
  }

  MachineState state_;
  TickBook book_;
  Trace trace_;
  NameTable names_;
  std::int64_t last_correlation_ = 0;
};

}  // namespace

Phase MachineState::process_phase(std::size_t device) const {
  for (std::size_t i = 1; i < threads.size(); ++i) {
    const auto& replica = program.threads[i].thread.replica;
    if (replica && static_cast<std::size_t>(*replica) == device && !threads[i].open.empty()) {
      return threads[i].open.back().first;
    }
  }
  return threads.front().open.empty() ? Phase::other : threads.front().open.back().first;
}

Simulation simulate(const Program& program) { return Machine(program).run(); }

}  // namespace ddpprof::test

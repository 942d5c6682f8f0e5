#include "tests/diagnose/recording.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>

namespace ddpprof::test {
namespace {

Span to_span(Span ticks) { return {ticks.begin_ns * kTickNs, ticks.end_ns * kTickNs}; }

// A random order of `count` things; not std::shuffle, so the same with every standard library.
std::vector<std::size_t> random_order(std::size_t count, std::mt19937& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  return order;
}

template <typename T>
void reorder(std::vector<T>& things, const std::vector<std::size_t>& order) {
  std::vector<T> reordered;
  for (const std::size_t i : order) reordered.push_back(things[i]);
  things = std::move(reordered);
}

}  // namespace

Recording::Recording(const Program& program)
    : names_(trace_.names), correlation_(program.first_correlation) {
  for (const ThreadProgram& thread : program.threads) trace_.threads.push_back(thread.thread);
  trace_.info.devices.resize(static_cast<std::size_t>(program.devices_count));
}

void Recording::add_scope(std::size_t thread, Phase phase, Span ticks) {
  Scope scope;
  scope.span = to_span(ticks);
  scope.thread = {static_cast<std::uint32_t>(thread)};
  scope.phase = phase;
  scope.name = names_.intern(to_string(phase));
  trace_.scopes.push_back(scope);
}

void Recording::add_call(std::size_t thread, Span ticks, std::int64_t correlation,
                         bool synchronizes, bool is_doubled) {
  Call call;
  call.span = to_span(ticks);
  call.thread = {static_cast<std::uint32_t>(thread)};
  call.name = names_.intern(synchronizes ? "synchronize" : "launch");
  call.correlation = correlation;
  call.synchronizes = synchronizes;
  trace_.calls.push_back(call);
  if (!is_doubled || ticks.length_ns() < 2) return;
  call.span.begin_ns += kTickNs;
  call.name = names_.intern("driver");
  trace_.calls.push_back(call);
}

void Recording::begin_life(std::size_t thread, std::int64_t tick) {
  trace_.threads[thread].life = {tick * kTickNs, tick * kTickNs};
}

void Recording::end_life(std::size_t thread, std::int64_t tick) {
  trace_.threads[thread].life.end_ns = tick * kTickNs;
}

void Recording::close(const MachineState& state, Simulation& simulation) {
  for (const Kernel& kernel : state.kernels) {
    add_work(kernel);
    if (kernel.action.meeting) add_collective(kernel, simulation.timings);
  }
  for (std::size_t i = 0; i < state.threads.size(); ++i) {
    if (state.threads[i].is_running && !state.threads[i].is_done) end_life(i, state.now);
  }
  if (state.program.shuffle_seed != 0) shuffle(state.program.shuffle_seed, simulation.timings);
  trace_.steps = state.steps;
  simulation.trace = std::move(trace_);
}

void Recording::add_work(const Kernel& kernel) {
  trace_.work.push_back({.span = to_span({kernel.start_tick, kernel.end_tick}),
                         .device = kernel.action.device,
                         .stream = kernel.action.stream,
                         .activity = kernel.action.activity,
                         .name = names_.intern("kernel"),
                         .correlation = kernel.correlation,
                         .captured_phase = kernel.captured});
}

// Of the work that was added last.
void Recording::add_collective(const Kernel& kernel, std::vector<CollectiveTiming>& timings) {
  const Meeting& meeting = *kernel.action.meeting;
  trace_.collectives.push_back({.kind = meeting.kind,
                                .communicator = names_.intern("0"),
                                .sequence = meeting.sequence,
                                .bytes = 1024,
                                .gradient = meeting.gradient,
                                .bucket = meeting.bucket,
                                .root = meeting.root,
                                .device = kernel.action.device,
                                .ready_ns = kernel.launch_tick * kTickNs,
                                .span = trace_.work.back().span,
                                .work = static_cast<std::uint32_t>(trace_.work.size() - 1)});
  timings.push_back(
      {.wait_ns = kernel.waited_ticks * kTickNs, .transfer_ns = kernel.action.run_ticks * kTickNs});
}

void Recording::shuffle(std::uint32_t seed, std::vector<CollectiveTiming>& timings) {
  std::mt19937 random(seed);
  const auto order = random_order(trace_.work.size(), random);
  std::vector<std::uint32_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::uint32_t>(i);
  reorder(trace_.work, order);
  for (Collective& collective : trace_.collectives) collective.work = place[*collective.work];
  const auto collective_order = random_order(trace_.collectives.size(), random);
  reorder(trace_.collectives, collective_order);
  reorder(timings, collective_order);
  reorder(trace_.calls, random_order(trace_.calls.size(), random));
  reorder(trace_.scopes, random_order(trace_.scopes.size(), random));
}

}  // namespace ddpprof::test

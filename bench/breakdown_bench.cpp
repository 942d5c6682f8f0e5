// How long the labelling of a recording takes, by the number of its device events: everything from
// a Trace to the labelled windows of all its devices.
#include "profiler/diagnose/timeline.h"
#include "profiler/trace/trace.h"

#include <cstdint>

#include <benchmark/benchmark.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kEventsPerStep = 1000;
constexpr std::int64_t kLaunchNs = 6'000;
constexpr std::int64_t kKernelNs = 5'500;

// A training loop on one device: launches every 6 us, kernels on a main stream, every tenth one
// a collective on a second stream, a scope a hundred launches, a synchronising call a step.
Trace make_trace(std::int64_t events_count) {
  Trace trace;
  trace.names = {"kernel"};
  Thread main;
  main.name = "main";
  main.is_main = true;
  trace.threads = {main};
  for (std::int64_t i = 0; i < events_count; ++i) {
    const std::int64_t at = i * kLaunchNs;
    if (i % kEventsPerStep == 0) {
      const std::int64_t end = std::min(i + kEventsPerStep, events_count) * kLaunchNs;
      trace.steps.push_back({.index = i / kEventsPerStep, .visit = 0, .span = {at, end}});
      Call wait;
      wait.span = {at, at + 1'000};
      wait.synchronizes = true;
      trace.calls.push_back(wait);
    }
    if (i % 100 == 0) {
      Scope scope;
      scope.span = {at, at + 100 * kLaunchNs};
      scope.phase = static_cast<Phase>(i / 100 % 10);
      trace.scopes.push_back(scope);
    }
    Call launch;
    launch.span = {at + 1'000, at + 4'000};
    launch.correlation = i + 1;
    trace.calls.push_back(launch);
    const bool communicates = i % 10 == 9;
    trace.work.push_back({.span = {at + 5'000, at + 5'000 + (communicates ? 4 : 1) * kKernelNs},
                          .device = 0,
                          .stream = communicates ? 20 : 7,
                          .activity = communicates ? Activity::communication : Activity::compute,
                          .name = {0},
                          .correlation = i + 1});
  }
  return trace;
}

// Devices that are threads: scopes instead of kernels.
Trace make_thread_trace(std::int64_t scopes_count) {
  Trace trace = make_trace(0);
  trace.info.devices_are_threads = true;
  trace.steps = {{.index = 0, .visit = 0, .span = {0, scopes_count * kLaunchNs}}};
  for (std::int64_t i = 0; i < scopes_count; ++i) {
    Scope scope;
    scope.span = {i * kLaunchNs, i * kLaunchNs + kKernelNs};
    scope.phase = static_cast<Phase>(i % 10);
    scope.computes = true;
    scope.cpu_ns = kKernelNs - 100;
    trace.scopes.push_back(scope);
  }
  return trace;
}

void label_devices(benchmark::State& state) {
  const Trace trace = make_trace(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(find_timelines(trace));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}

void label_threads(benchmark::State& state) {
  const Trace trace = make_thread_trace(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(find_timelines(trace));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}

BENCHMARK(label_devices)
    ->RangeMultiplier(10)
    ->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);
BENCHMARK(label_threads)
    ->RangeMultiplier(10)
    ->Range(1'000, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);

}  // namespace
}  // namespace ddpprof

BENCHMARK_MAIN();

// How long a recording takes from a Trace to the labelled windows of its devices, and to the
// figures of their steps, by the number of device events (launch calls and pieces of work) or of
// scopes.
#include "bench/training_trace.h"
#include "profiler/diagnose/measure.h"
#include "profiler/diagnose/timeline.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace ddpprof {
namespace {

void count_events(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}

// From a Trace to labelled windows.
void label_devices(benchmark::State& state) {
  const Trace trace = make_training_trace(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(find_timelines(trace));
  count_events(state);
}

// The same and what each step adds up to, as one rank of a diagnosis needs it.
void breakdown(benchmark::State& state) {
  const Trace trace = make_training_trace(state.range(0));
  std::vector<std::optional<CollectiveTiming>> timings;
  for (const Collective& collective : trace.collectives) {
    timings.emplace_back(
        CollectiveTiming{.wait_ns = 0, .transfer_ns = collective.span.length_ns()});
  }
  for (auto _ : state) {
    for (const DeviceTimeline& timeline : find_timelines(trace)) {
      benchmark::DoNotOptimize(measure_steps(timeline, trace, timings, true));
    }
  }
  count_events(state);
}

// Devices that are threads: scopes instead of kernels.
Trace make_thread_trace(std::int64_t scopes_count) {
  constexpr std::int64_t kScopeEveryNs = 6'000, kScopeNs = 5'500;
  Trace trace = make_training_trace(0);
  trace.info.devices_are_threads = true;
  trace.steps = {{.index = 0, .visit = 0, .span = {0, scopes_count * kScopeEveryNs}}};
  for (std::int64_t i = 0; i < scopes_count; ++i) {
    Scope scope;
    scope.span = {i * kScopeEveryNs, i * kScopeEveryNs + kScopeNs};
    scope.phase = static_cast<Phase>(i % 10);
    scope.computes = true;
    scope.cpu_ns = kScopeNs - 100;
    trace.scopes.push_back(scope);
  }
  return trace;
}

void label_threads(benchmark::State& state) {
  const Trace trace = make_thread_trace(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(find_timelines(trace));
  count_events(state);
}

BENCHMARK(label_devices)
    ->RangeMultiplier(10)
    ->Range(1'000, 10'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);
BENCHMARK(breakdown)
    ->RangeMultiplier(10)
    ->Range(1'000, 10'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);
BENCHMARK(label_threads)
    ->RangeMultiplier(10)
    ->Range(1'000, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oNLogN);

}  // namespace
}  // namespace ddpprof

BENCHMARK_MAIN();

// What one call of the recorder costs the training thread. Results: profiler/record/README.md.
#include "profiler/record/recorder.h"

#include <benchmark/benchmark.h>

namespace ddpprof {
namespace {

// Records are taken out every so often, outside of the timed part, so that memory stays small.
constexpr std::int64_t kScopesATake = 100'000;

void BM_ScopeOff(benchmark::State& state) {
  Recorder recorder({}, nullptr);
  for (auto _ : state) const PhaseScope scope(recorder, Phase::forward, "forward");
}
BENCHMARK(BM_ScopeOff);

void run_scopes(benchmark::State& state, Recorder::Options options, bool ends_compute) {
  Recorder recorder(options, nullptr);
  const ThreadScope thread(recorder, "main", true);
  recorder.start(0);
  recorder.begin_step(0);
  std::int64_t scopes_count = 0;
  for (auto _ : state) {
    {
      const PhaseScope scope(recorder, Phase::forward, "forward", {.computes = true});
      if (ends_compute) recorder.end_compute();
    }
    if (++scopes_count % kScopesATake != 0) continue;
    state.PauseTiming();
    recorder.end_step();
    recorder.stop();
    benchmark::DoNotOptimize(recorder.take({}));
    recorder.start(0);
    recorder.begin_step(0);
    state.ResumeTiming();
  }
}

void BM_ScopeOn(benchmark::State& state) { run_scopes(state, {}, false); }
BENCHMARK(BM_ScopeOn);

void BM_ScopeOnWithEndCompute(benchmark::State& state) { run_scopes(state, {}, true); }
BENCHMARK(BM_ScopeOnWithEndCompute);

void BM_ScopeOnWithCpuTime(benchmark::State& state) {
  run_scopes(state, {.cpu_time = true}, false);
}
BENCHMARK(BM_ScopeOnWithCpuTime);

void BM_CountOn(benchmark::State& state) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  for (auto _ : state) recorder.count(Counter::replicate);
}
BENCHMARK(BM_CountOn);

void BM_CollectiveOn(benchmark::State& state) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  for (auto _ : state) {
    recorder.end_collective(recorder.begin_collective({.communicator = "gradients", .bytes = 64}));
  }
}
BENCHMARK(BM_CollectiveOn)->Iterations(200'000);  // each takes a slot that is not used again

void BM_FreshThreadOn(benchmark::State& state) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  for (auto _ : state) {
    recorder.enter_thread("replica", false, 1);
    recorder.leave_thread();
  }
}
BENCHMARK(BM_FreshThreadOn)->Iterations(50'000);

// The two clock readings that every scope contains.
void BM_TwoClockReads(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(now_ns());
    benchmark::DoNotOptimize(now_ns());
  }
}
BENCHMARK(BM_TwoClockReads);

}  // namespace
}  // namespace ddpprof

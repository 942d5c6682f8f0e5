// What taking a batch from the loader's threads costs, and what they gain.
#include "trainers/common/data_cost.h"
#include "trainers/common/ordered_producers.h"

#include <cstdint>

#include <benchmark/benchmark.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kPrefetch = 2;  // the trainers' default

// The taker does nothing else: it gets items as fast as `threads` threads make them; with 0 it
// makes them itself.
void take_items(benchmark::State& state, std::int64_t cost_ns) {
  using Producers = OrderedProducers<std::int64_t>;
  const std::int64_t threads = state.range(0);
  const auto plan = [cost_ns](std::int64_t index) {
    return [cost_ns, index](const std::stop_token& stop) {
      if (cost_ns > 0) compute_for(cost_ns, stop);
      return index;
    };
  };
  if (threads == 0) {
    std::int64_t index = 0;
    for (auto _ : state) benchmark::DoNotOptimize(Producers::Job(plan(index++))({}));
    return;
  }
  Producers producers(threads, threads * kPrefetch, 0, plan, [](std::int64_t /*thread*/) {});
  for (auto _ : state) benchmark::DoNotOptimize(producers.take());
}

void take_free_items(benchmark::State& state) { take_items(state, 0); }
BENCHMARK(take_free_items)->Arg(0)->Arg(1)->Arg(2)->UseRealTime();

void take_costly_items(benchmark::State& state) { take_items(state, 1'000'000); }
BENCHMARK(take_costly_items)->Arg(0)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace ddpprof

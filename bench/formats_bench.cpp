// What writing and reading a native trace costs, plain and gzip, and how large it is.
#include "bench/training_trace.h"
#include "profiler/formats/gzip.h"
#include "profiler/formats/native.h"
#include "profiler/formats/nsys_sqlite.h"
#include "profiler/formats/nvtxt.h"
#include "profiler/formats/perfetto.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace ddpprof {
namespace {

void count_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["bytes_per_event"] =
      static_cast<double>(bytes) / static_cast<double>(state.range(0));
}

void write_trace(benchmark::State& state) {
  const Trace trace = make_training_trace(state.range(0));
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string text = write_native(trace);
    bytes = text.size();
  }
  count_bytes(state, bytes);
}

void compress_trace(benchmark::State& state) {
  const std::string text = write_native(make_training_trace(state.range(0)));
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string compressed = compress_gzip(text);
    bytes = compressed.size();
  }
  count_bytes(state, bytes);
}

void decompress_trace(benchmark::State& state) {
  const std::string compressed = compress_gzip(write_native(make_training_trace(state.range(0))));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        decompress_gzip(compressed, std::numeric_limits<std::uint32_t>::max(), "trace"));
  }
  count_bytes(state, compressed.size());
}

void read_trace(benchmark::State& state) {
  const std::string text = write_native(make_training_trace(state.range(0)));
  for (auto _ : state) {
    state.PauseTiming();
    std::string given = text;  // a file's text is moved in
    given.reserve(text.size() + 64);
    state.ResumeTiming();
    benchmark::DoNotOptimize(read_native(std::move(given), "trace"));
  }
  count_bytes(state, text.size());
}

template <std::string (*Write)(std::span<const Trace>)>
void export_trace(benchmark::State& state) {
  const std::vector<Trace> traces = {make_training_trace(state.range(0))};
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string content = Write(traces);
    bytes = content.size();
  }
  count_bytes(state, bytes);
}

// More events than caches hold; times of larger traces are proportional.
constexpr std::int64_t kFew = 1'000, kMany = 1'000'000;
BENCHMARK(write_trace)->Arg(kFew)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(compress_trace)->Arg(kFew)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(decompress_trace)->Arg(kFew)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(read_trace)->Arg(kFew)->Arg(kMany)->Unit(benchmark::kMillisecond);
BENCHMARK(export_trace<write_nsys_sqlite>)
    ->Name("export_nsys_sqlite")
    ->Arg(kFew)
    ->Arg(kMany)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(export_trace<write_nvtxt>)
    ->Name("export_nvtxt")
    ->Arg(kFew)
    ->Arg(kMany)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(export_trace<write_perfetto>)
    ->Name("export_perfetto")
    ->Arg(kFew)
    ->Arg(kMany)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ddpprof

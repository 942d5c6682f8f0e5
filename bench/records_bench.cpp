// What becoming of CUPTI's records costs: from a buffer to values, which a thread beside training
// does, and from all values to a trace, which is done when training is over.
#include "profiler/record/cupti_records.h"
#include "profiler/record/device_trace.h"

#include <cstdint>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kLaunchNs = 6'000;
constexpr std::int64_t kKernelNames = 60;  // of a step of bert-base
constexpr std::uint32_t kThread = 100;

// Launches of a training loop, one after the other: a call and its kernel each. As long as real
// names are: some 150 letters.
struct Records {
  std::vector<std::string> names;
  std::vector<CallEntry> calls;
  std::vector<KernelRecord> kernels;
  CallNames call_names{.runtime = {"", "cudaLaunchKernel_v7000"}, .driver = {}};

  explicit Records(std::int64_t launches_count) {
    for (std::int64_t i = 0; i < kKernelNames; ++i) {
      names.push_back("_ZN2at6native" + std::string(130, 'k') + std::to_string(i));
    }
    for (std::int64_t i = 0; i < launches_count; ++i) {
      const std::int64_t begin_ns = (i + 1) * kLaunchNs;
      calls.push_back({.begin_ns = begin_ns,
                       .end_ns = begin_ns + 4'000,
                       .thread = kThread,
                       .correlation = static_cast<std::uint32_t>(i + 1),
                       .id = 1,
                       .is_driver = 0});
      KernelRecord kernel{};
      kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      kernel.start = static_cast<std::uint64_t>(begin_ns + 5'000);
      kernel.end = kernel.start + 5'000;
      kernel.streamId = 7;
      kernel.correlationId = calls.back().correlation;
      kernel.name = names[static_cast<std::size_t>(i % kKernelNames)].c_str();
      kernels.push_back(kernel);
    }
  }

  DeviceRecords convert() const {
    DeviceRecords records;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      append_call(calls[i], call_names, records);
      append_record(reinterpret_cast<const CUpti_Activity&>(kernels[i]), records);
    }
    return records;
  }
};

void convert_records(benchmark::State& state) {
  const Records records(state.range(0) / 2);
  for (auto _ : state) benchmark::DoNotOptimize(records.convert());
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}

void append_to_trace(benchmark::State& state) {
  const DeviceRecords records = Records(state.range(0) / 2).convert();
  for (auto _ : state) {
    state.PauseTiming();
    Trace trace;
    trace.threads.resize(1);
    trace.threads[0].system_id = kThread;
    trace.threads[0].life = {0, INT64_MAX};
    DeviceRecording recording;
    recording.records = records;
    recording.ordinals = {0};
    state.ResumeTiming();
    append_recording(std::move(recording), trace);
    benchmark::DoNotOptimize(trace);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetComplexityN(state.range(0));
}

BENCHMARK(convert_records)
    ->RangeMultiplier(10)
    ->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);
BENCHMARK(append_to_trace)
    ->RangeMultiplier(10)
    ->Range(1'000, 1'000'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

}  // namespace
}  // namespace ddpprof

// What the trainer for GPUs records by events: phases, collectives, memory.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/gpu/gpus.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr int kWarmup = 4;
constexpr int kRecordedSteps = 6;
// Against the host's clock; events are reached in some 10 us.
constexpr std::int64_t kMostUncertain_ns = 200'000;

Arguments recorded_bert(Arguments more, const std::filesystem::path& trace) {
  more.insert(more.end(), {"--recorder", "events", "--workload", "bert-base", "--layers", "4",
                           "--batch", "16", "--warmup", std::to_string(kWarmup), "--steps",
                           std::to_string(kWarmup + kRecordedSteps), "--trace", trace.string()});
  return more;
}

Trace record(const Arguments& arguments) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.json.gz";
  TrainerProcess process(recorded_bert(arguments, path));
  EXPECT_EQ(process.wait(), 0) << process.error();
  return read_native(read_file(path), path.string());
}

// Every recorded step is covered on every device, without a gap, from the end of the step before.
void expect_covered(const Trace& trace) {
  EXPECT_EQ(trace.steps.size(), static_cast<std::size_t>(kRecordedSteps));
  for (std::size_t device = 0; device < trace.info.devices.size(); ++device) {
    std::optional<std::int64_t> end_ns;
    std::set<std::int64_t> steps;
    for (const DevicePhase& phase : trace.device_phases) {
      if (phase.device != static_cast<std::int32_t>(device)) continue;
      if (end_ns) {
        EXPECT_EQ(phase.span.begin_ns, *end_ns) << "device " << device;
      }
      EXPECT_LT(phase.span.begin_ns, phase.span.end_ns);
      end_ns = phase.span.end_ns;
      steps.insert(phase.step);
    }
    EXPECT_EQ(steps.size(), trace.steps.size()) << "device " << device;
  }
}

std::map<Phase, std::int64_t> lengths(const Trace& trace, std::int32_t device) {
  std::map<Phase, std::int64_t> result;
  for (const DevicePhase& phase : trace.device_phases) {
    if (phase.device == device) result[phase.phase] += phase.span.length_ns();
  }
  return result;
}

TEST(EventRecording, OfOneDeviceHasThePhasesOfAStep) {
  const Trace trace = record({});
  expect_covered(trace);
  EXPECT_FALSE(trace.info.devices_are_threads);
  EXPECT_EQ(trace.info.recorder, kEventRecorder);
  EXPECT_EQ(trace.info.dropped_records, 0);
  EXPECT_TRUE(trace.issues.empty());
  const auto by_phase = lengths(trace, 0);
  for (const Phase phase :
       {Phase::data, Phase::forward, Phase::loss, Phase::backward, Phase::optimizer}) {
    EXPECT_TRUE(by_phase.contains(phase)) << to_string(phase);
  }
  EXPECT_FALSE(by_phase.contains(Phase::replicate));
  // A backward pass computes twice what a forward does.
  EXPECT_GT(by_phase.at(Phase::backward), by_phase.at(Phase::forward) / 2);
  ASSERT_EQ(trace.info.peak_memory_bytes.size(), 1u);
  EXPECT_GT(trace.info.peak_memory_bytes[0].value_or(0), 4 * *trace.info.workload.gradient_bytes)
      << "parameters, gradients and two averages";
  EXPECT_LT(trace.info.device_clock_uncertainty_ns.value_or(kMostUncertain_ns), kMostUncertain_ns);
}

// The device's time is the host's: what was queued in a step ends no earlier than it was queued,
// and the recording ends with the host's wait for the device.
TEST(EventRecording, IsOnTheHostsClock) {
  const Trace trace = record({});
  const std::int64_t margin_ns = kMostUncertain_ns;
  for (const Step& step : trace.steps) {
    std::int64_t end_ns = 0;
    for (const DevicePhase& phase : trace.device_phases) {
      if (phase.step == step.index) end_ns = std::max(end_ns, phase.span.end_ns);
    }
    EXPECT_GT(end_ns, step.span.end_ns - margin_ns);
    EXPECT_LT(end_ns, trace.info.clock_end.monotonic_ns);
  }
}

TEST(EventRecording, OfDataParallelHasItsPhasesOnBothDevices) {
  const Trace trace = record([] {
    Arguments arguments = {"--strategy", "dp"};
    const Arguments more = two_replicas();
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }());
  ASSERT_EQ(trace.info.devices.size(), 2u);
  expect_covered(trace);
  for (const std::int32_t device : {0, 1}) {
    const auto by_phase = lengths(trace, device);
    for (const Phase phase : {Phase::scatter, Phase::replicate, Phase::forward, Phase::gather,
                              Phase::backward, Phase::grad_reduce}) {
      EXPECT_TRUE(by_phase.contains(phase)) << to_string(phase) << " on " << device;
    }
  }
  EXPECT_TRUE(trace.collectives.empty()) << "those of replicas need their kernels";
  EXPECT_EQ(trace.info.counts.at("replicate"), kRecordedSteps);
  EXPECT_EQ(trace.info.counts.at("scatter"), 2 * kRecordedSteps) << "two inputs";
}

std::vector<Trace> record_ddp() {
  const TemporaryFolder folder;
  EXPECT_EQ(run_ranks(ranks_count(), recorded_bert({}, folder.path() / "{rank}.json.gz")),
            std::vector<int>(static_cast<std::size_t>(ranks_count())));
  std::vector<Trace> traces;
  for (int rank = 0; rank < ranks_count(); ++rank) {
    const auto path = folder.path() / (std::to_string(rank) + ".json.gz");
    traces.push_back(read_native(read_file(path), path.string()));
  }
  return traces;
}

TEST(EventRecording, OfDistributedDataParallelHasItsAllReduces) {
  const std::vector<Trace> traces = record_ddp();
  for (const Trace& trace : traces) {
    SCOPED_TRACE("rank " + std::to_string(trace.info.rank));
    expect_covered(trace);
    EXPECT_TRUE(lengths(trace, 0).contains(Phase::all_reduce));
    EXPECT_EQ(trace.info.devices.at(0).number, trace.info.rank);
    std::int64_t bytes = 0;
    for (const Collective& collective : trace.collectives) {
      EXPECT_LE(*collective.ready_ns, collective.span.begin_ns);
      EXPECT_LT(collective.span.begin_ns, collective.span.end_ns);
      if (collective.gradient) bytes += collective.bytes;
    }
    EXPECT_EQ(bytes, kRecordedSteps * *trace.info.workload.gradient_bytes);
    EXPECT_EQ(trace.info.dropped_records, 0);
  }
}

// No rank can be done with an all-reduce before the other brought its part.
TEST(EventRecording, OfTwoRanksIsOnOneClock) {
  if (ranks_count() < 2) GTEST_SKIP() << "takes two GPUs";
  const std::vector<Trace> traces = record_ddp();
  ASSERT_FALSE(traces[0].collectives.empty());
  for (const Trace& a : traces) {
    for (const Trace& b : traces) {
      const std::int64_t margin_ns = a.info.device_clock_uncertainty_ns.value_or(0) +
                                     b.info.device_clock_uncertainty_ns.value_or(0);
      ASSERT_EQ(a.collectives.size(), b.collectives.size());
      for (std::size_t i = 0; i < a.collectives.size(); ++i) {
        ASSERT_EQ(a.collectives[i].sequence, b.collectives[i].sequence);
        EXPECT_GT(a.collectives[i].span.end_ns + margin_ns, *b.collectives[i].ready_ns);
      }
    }
  }
}

}  // namespace
}  // namespace ddpprof::test

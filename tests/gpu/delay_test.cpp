// A delay of known length in one phase comes back in that phase of a GPU's table. What spins on the
// device is compute of the phase it was launched in; what sleeps on the host, longer than the host
// is ahead there, is a stall in that phase. Needs every kernel to be seen.
#include "tests/gpu/gpus.h"
#include "tests/trainers/delay_check.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr int kWarmup = 9;

struct Regime {
  std::string kind;
  int delay_us;
  int recorded_steps;
  Activity activity;
  DelayBounds bounds;
  MoveBounds moves;
  Arguments arguments;
};

// The GPU is the limit: some 20 ms of kernels a step on an H200, launched in some 3.
Regime host_ahead() {
  return {.kind = "device",
          .delay_us = 3'000,
          .recorded_steps = 150,
          .activity = Activity::compute,
          .bounds = {.share = 0.005, .at_least_ns = 5'000, .least_pairs = 45},
          .moves = {.same_phase_ns = 20'000, .elsewhere_ns = 20'000},
          .arguments = {"--layers", "4"}};
}

// The host is the limit. It is ahead by what the GPU still does of a broadcast or a reduction of
// the model's 60 MB, some 0.5 ms, where it is ahead at all: less than 1 % of the delay.
Regime launch_bound() {
  return {.kind = "host",
          .delay_us = 100'000,
          .recorded_steps = 90,
          .activity = Activity::stall,
          .bounds = {.share = 0.01, .at_least_ns = 50'000, .least_pairs = 27},
          .moves = {.same_phase_ns = 50'000, .elsewhere_ns = 50'000},
          .arguments = {"--layers", "2", "--batch", "8", "--vocab", "2000"}};
}

Arguments arguments_of(const Plant& plant, const Regime& regime) {
  Arguments arguments =
      Arguments{"--recorder", "cupti",
                "--workload", "bert-base",
                "--warmup",   std::to_string(kWarmup),
                "--steps",    std::to_string(kWarmup + regime.recorded_steps),
                "--delay",    planted(plant.phase, regime.kind, regime.delay_us)} +
      regime.arguments;
  if (regime.kind == "device") {
    // 256 samples a GPU.
    arguments = arguments + Arguments{"--batch", plant.strategy == "single" ? "256" : "512"};
  }
  // On its fresh threads cuDNN would plan every attention anew, on the host.
  return plant.strategy == "dp" ? arguments + Arguments{"--no-cudnn-attention"} : arguments;
}

// Of one GPU no other cell moves; of several, what one waits for another does.
// dp's delays are all on its first GPU: the training loop's and the first replica's.
void expect_comes_back(const Plant& plant, const Regime& regime) {
  if (plant.strategy != "single" && gpus_count() < 2) GTEST_SKIP() << "takes two GPUs";
  const std::vector<Trace> traces =
      record(plant.strategy, ranks_count(), arguments_of(plant, regime));
  for (const Trace& trace : traces) {
    SCOPED_TRACE("rank " + std::to_string(trace.info.rank));
    EXPECT_EQ(trace.info.dropped_records, 0);
    EXPECT_EQ(trace.info.planted_delays_ns.size(),
              static_cast<std::size_t>(regime.recorded_steps / 3));
    for (const auto& [step, length_ns] : trace.info.planted_delays_ns) {
      // The device's cycles vary, which is why each is measured.
      EXPECT_GT(length_ns, std::int64_t{regime.delay_us} * 700) << "step " << step;
    }
    if (regime.activity != Activity::stall) {
      expect_delay_in(tabulate(trace, 0), {plant.in(), regime.activity}, regime.bounds);
    }
  }
  if (plant.strategy == "single") {
    expect_moves_only(tabulate(traces.front(), 0), Cell{plant.in(), regime.activity}, regime.moves);
  }
  // A rank that is asleep while its GPU waits for the other one does not stall.
  if (regime.activity == Activity::stall) {
    expect_delay_in(tabulate_critical(traces), {plant.in(), regime.activity}, regime.bounds);
  }
}

class GpuDelay : public testing::TestWithParam<Plant> {};

TEST_P(GpuDelay, OfTheDeviceIsComputeOfItsPhase) { expect_comes_back(GetParam(), host_ahead()); }

TEST_P(GpuDelay, OfTheHostIsAStallInItsPhase) { expect_comes_back(GetParam(), launch_bound()); }

INSTANTIATE_TEST_SUITE_P(Phases, GpuDelay, testing::ValuesIn(all_plants()),
                         [](const auto& row) { return to_name(row.param); });

}  // namespace
}  // namespace ddpprof::test

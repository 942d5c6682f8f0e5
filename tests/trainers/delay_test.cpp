// A sleep of known length in one phase comes back in that phase of the table, and nowhere else.
// What the table says of a sleeping thread: profiler/README.md, "Devices that are threads".
#include "profiler/formats/file.h"
#include "tests/trainers/delay_check.h"
#include "tests/trainers/trainer_process.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr int kWarmup = 9;
constexpr int kRecordedSteps = 240;
constexpr int kDelay_us = 10'000;
constexpr DelayBounds kBounds = {.share = 0.01, .at_least_ns = 50'000, .least_pairs = 75};
// Going to sleep and waking up took some 25 us of CPU time on a machine of 2 busy cores.
constexpr MoveBounds kMoves = {.same_phase_ns = 50'000, .elsewhere_ns = 5'000};

class HostDelay : public testing::TestWithParam<Plant> {};

TEST_P(HostDelay, ComesBackInItsPhaseAndNowhereElse) {
  const Plant& plant = GetParam();
  const Cell stall{plant.in(), Activity::stall};
  // dp's replicas run forward and backward: the delay is replica 0's. All other phases are main's,
  // and every device stalls with it.
  const bool is_of_replica_0 =
      plant.strategy == "dp" && (plant.phase == "forward" || plant.phase == "backward");
  // A model so small that a step is short against the delay.
  const std::vector<Trace> traces =
      record(plant.strategy, 2,
             {"--width", "16", "--batch", "16", "--threads", "1", "--warmup",
              std::to_string(kWarmup), "--steps", std::to_string(kWarmup + kRecordedSteps),
              "--delay", planted(plant.phase, "host", kDelay_us)});
  for (const Trace& trace : traces) {
    EXPECT_EQ(trace.info.dropped_records, 0);
    EXPECT_EQ(trace.info.planted_delays_ns.size(), static_cast<std::size_t>(kRecordedSteps / 3));
    for (const auto& [step, length_ns] : trace.info.planted_delays_ns) {
      EXPECT_EQ(step % 3, 2);
      EXPECT_GE(length_ns, std::int64_t{kDelay_us} * 1000);
    }
    for (std::size_t device = 0; device < trace.info.devices.size(); ++device) {
      SCOPED_TRACE("rank " + std::to_string(trace.info.rank) + ", device " +
                   std::to_string(device));
      const std::vector<StepTable> tables = tabulate(trace, device);
      ASSERT_EQ(tables.size(), static_cast<std::size_t>(kRecordedSteps));
      if (is_of_replica_0 && device > 0) {
        expect_moves_only(tables, {}, kMoves);
      } else {
        expect_delay_in(tables, stall, kBounds);
        expect_moves_only(tables, stall, kMoves);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Phases, HostDelay, testing::ValuesIn(all_plants()),
                         [](const auto& row) { return to_name(row.param); });

// The losses of every step as text that reads back as the same numbers.
std::string losses(const std::string& strategy, const Arguments& more, bool is_recorded) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "losses.jsonl";
  Arguments arguments = {"--steps",   "12", "--warmup",  "3",
                         "--threads", "1",  "--metrics", path.string()};
  if (is_recorded) {
    arguments = arguments + Arguments{"--trace", (folder.path() / "{rank}.json").string()};
  }
  train(strategy, 2, arguments + more);
  return read_file(path);
}

class Losses : public testing::TestWithParam<const char*> {};

TEST_P(Losses, AreTheSameBitsWithAndWithoutRecordingAndDelay) {
  const std::string strategy = GetParam();
  const std::string plain = losses(strategy, {}, false);
  EXPECT_EQ(std::ranges::count(plain, '\n'), 12 + 1) << "steps, and the accuracy at the end";
  EXPECT_EQ(losses(strategy, {}, true), plain);
  for (const char* delay : {"backward:host:2000", "forward:host:2000:every=3:control"}) {
    for (const bool is_recorded : {false, true}) {
      EXPECT_EQ(losses(strategy, {"--delay", delay}, is_recorded), plain) << delay << is_recorded;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, Losses, testing::Values("single", "dp", "ddp"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace ddpprof::test

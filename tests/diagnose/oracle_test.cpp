// The accounting against a machine that knows whose each tick was while it happened, over hundreds
// of random training loops; and the same comparison against accountings that are wrong on purpose,
// which must not pass it.
#include "tests/diagnose/oracle.h"

#include "profiler/diagnose/timeline.h"
#include "tests/diagnose/scenario.h"
#include "tests/diagnose/simulator.h"

#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::uint32_t kSeeds = 400;
TEST(Oracle, ScenariosHaveEverythingTheyAreMadeFor) {
  Breakdown all;
  std::int64_t two_devices = 0, unrecorded = 0, run_ahead = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Simulation simulation = simulate(make_scenario(seed));
    for (const auto& device : simulation.truth) {
      for (const Breakdown& table : device) all.add(table);
    }
    two_devices += simulation.truth.size() == 2 ? 1 : 0;
    for (const Work& work : simulation.trace.work) unrecorded += work.correlation == 0 ? 1 : 0;
    const auto timeline = find_timelines(simulation.trace).front();
    for (std::size_t i = 0; i < timeline.windows.size(); ++i) {
      const bool is_behind =
          timeline.windows[i].span.begin_ns > simulation.trace.steps[i].span.begin_ns;
      run_ahead += is_behind ? 1 : 0;
    }
  }
  EXPECT_GT(two_devices, kSeeds / 4);
  EXPECT_GT(unrecorded, kSeeds / 10);
  EXPECT_GT(run_ahead, kSeeds / 10);
  for (const Activity activity :
       {Activity::compute, Activity::communication, Activity::copy, Activity::stall}) {
    EXPECT_GT(all.of(activity), 0) << to_string(activity);
  }
  for (const StallKind kind :
       {StallKind::queued, StallKind::host, StallKind::sync, StallKind::latency}) {
    std::int64_t sum_ns = 0;
    for (const Label& label : all.labels()) sum_ns += label.kind == kind ? all[label] : 0;
    EXPECT_GT(sum_ns, all.total_ns() / 200) << to_string(kind);
  }
}

TEST(Oracle, AgreesOnEveryStepOfEveryDevice) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Simulation simulation = simulate(make_scenario(seed));
    const double error = worst_error(account(simulation.trace), simulation.truth);
    ASSERT_LE(error, kTolerance) << "seed " << seed;
    ASSERT_EQ(error, 0) << "within the tolerance, but both books are kept in integers; seed "
                        << seed;
  }
}

// A wrong accounting must be found out in more than this share of the scenarios.
struct Wrong {
  const char* what;
  Tables (*account)(const Trace&);
  double least_share;
};

Tables use_running_phases(const Trace& trace) {
  Trace changed = trace;
  for (Work& work : changed.work) work.correlation = 0;
  return account(changed);
}

TEST(Oracle, CatchesWrongAccountings) {
  const std::vector<Wrong> wrongs = {
      {"work has the phase in which it runs", use_running_phases, 0.95},
      {"communication hides compute", hide_compute, 0.9},
      {"all stalls are the host's", blame_hosts, 0.95},
      {"stalls have the phase of the next work", use_next_phases, 0.95},
      // Only where the host runs ahead.
      {"windows are the host's spans", use_host_windows, 0.5},
  };
  std::vector<int> caught(wrongs.size(), 0);
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Simulation simulation = simulate(make_scenario(seed));
    for (std::size_t i = 0; i < wrongs.size(); ++i) {
      const Tables tables = wrongs[i].account(simulation.trace);
      if (worst_error(tables, simulation.truth) > kTolerance) ++caught[i];
    }
  }
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    EXPECT_GT(caught[i], wrongs[i].least_share * kSeeds) << wrongs[i].what;
  }
}

TEST(Oracle, CatchesAThousandthMoreThanItsTolerance) {
  const Simulation simulation = simulate(make_scenario(1));
  Tables tables = account(simulation.trace);
  const std::int64_t window_ns = tables[0][1].total_ns();
  const Label first = tables[0][1].labels().front();
  const auto moved_ns =
      static_cast<std::int64_t>((kTolerance + 0.001) * static_cast<double>(window_ns));
  tables[0][1].add(first, -moved_ns);
  tables[0][1].add({Phase::graph, Activity::copy, {}}, moved_ns);
  EXPECT_GT(worst_error(tables, simulation.truth), kTolerance);
}

}  // namespace
}  // namespace ddpprof::test

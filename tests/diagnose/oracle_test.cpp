// The accounting against a machine that knows whose each tick was while it happened, over hundreds
// of random training loops; and the same comparison against accountings that are wrong on purpose,
// which must not pass it.
#include "profiler/diagnose/timeline.h"
#include "tests/diagnose/scenario.h"
#include "tests/diagnose/simulator.h"

#include <cstdlib>
#include <functional>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::uint32_t kSeeds = 400;
constexpr double kTolerance = 0.005;  // of the window

// Half the sum of all differences: the time under a wrong label.
std::int64_t misplaced_ns(const Breakdown& found, const Breakdown& truth) {
  Breakdown all = found;
  all.add(truth);
  std::int64_t sum = 0;
  for (const Label& label : all.labels()) sum += std::abs(found[label] - truth[label]);
  return (sum + 1) / 2;
}

using Tables = std::vector<std::vector<Breakdown>>;  // a list a device, a table a step

Tables account(const Trace& trace) {
  Tables tables;
  for (const DeviceTimeline& timeline : find_timelines(trace)) {
    tables.emplace_back();
    for (const auto& segments : timeline.segments) {
      tables.back().push_back(break_down(segments));
    }
  }
  return tables;
}

// The largest share of any step's window that is under a wrong label.
double worst_error(const Tables& found, const Tables& truth) {
  double worst = found.size() == truth.size() ? 0 : 1;
  for (std::size_t device = 0; device < truth.size() && worst < 1; ++device) {
    for (std::size_t step = 0; step < truth[device].size(); ++step) {
      const auto window_ns = static_cast<double>(truth[device][step].total_ns());
      const auto wrong_ns =
          static_cast<double>(misplaced_ns(found[device][step], truth[device][step]));
      if (wrong_ns > 0) worst = std::max(worst, window_ns > 0 ? wrong_ns / window_ns : 1);
    }
  }
  return worst;
}

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

// The share of scenarios in which a wrong accounting is found out.
double caught_share(const std::function<Tables(const Trace&)>& wrong_account) {
  int caught = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const Simulation simulation = simulate(make_scenario(seed));
    if (worst_error(wrong_account(simulation.trace), simulation.truth) > kTolerance) ++caught;
  }
  return static_cast<double>(caught) / kSeeds;
}

// The accounting with each segment relabelled.
Tables relabel(const Trace& trace,
               const std::function<Label(const std::vector<Segment>&, std::size_t)>& to_label) {
  Tables tables;
  for (const DeviceTimeline& timeline : find_timelines(trace)) {
    tables.emplace_back();
    for (const auto& segments : timeline.segments) {
      tables.back().emplace_back();
      for (std::size_t i = 0; i < segments.size(); ++i) {
        tables.back().back().add(to_label(segments, i), segments[i].span.length_ns());
      }
    }
  }
  return tables;
}

TEST(Oracle, CatchesWorkThatIsGivenThePhaseInWhichItRuns) {
  EXPECT_GT(caught_share([](Trace trace) {
              for (Work& work : trace.work) work.correlation = 0;
              return account(trace);
            }),
            0.95);
}

TEST(Oracle, CatchesCommunicationThatHidesCompute) {
  EXPECT_GT(caught_share([](Trace trace) {
              for (Work& work : trace.work) {
                if (work.activity == Activity::communication) {
                  work.activity = Activity::compute;
                } else if (work.activity == Activity::compute) {
                  work.activity = Activity::communication;
                }
              }
              Tables tables = account(trace);
              for (auto& device : tables) {
                for (Breakdown& table : device) {
                  Breakdown swapped;
                  for (Label label : table.labels()) {
                    const std::int64_t ns = table[label];
                    if (label.activity == Activity::compute) {
                      label.activity = Activity::communication;
                    } else if (label.activity == Activity::communication) {
                      label.activity = Activity::compute;
                    }
                    swapped.add(label, ns);
                  }
                  table = swapped;
                }
              }
              return tables;
            }),
            0.9);
}

TEST(Oracle, CatchesStallsThatAreAllTheHosts) {
  EXPECT_GT(caught_share([](const Trace& trace) {
              return relabel(trace, [](const std::vector<Segment>& segments, std::size_t i) {
                Label label = segments[i].label;
                if (label.kind) label.kind = StallKind::host;
                return label;
              });
            }),
            0.95);
}

TEST(Oracle, CatchesStallsThatTakeThePhaseOfTheNextWork) {
  EXPECT_GT(caught_share([](const Trace& trace) {
              return relabel(trace, [](const std::vector<Segment>& segments, std::size_t i) {
                Label label = segments[i].label;
                std::size_t next = i;
                while (next < segments.size() && segments[next].label.kind) ++next;
                if (next < segments.size()) label.phase = segments[next].label.phase;
                return label;
              });
            }),
            0.95);
}

TEST(Oracle, CatchesWindowsThatAreTheHostsSpans) {
  EXPECT_GT(caught_share([](const Trace& trace) {
              Tables tables;
              for (const DeviceTimeline& timeline : find_timelines(trace)) {
                tables.emplace_back();
                for (const Step& step : trace.steps) {
                  Breakdown table;
                  for (const auto& segments : timeline.segments) {
                    for (const Segment& segment : segments) {
                      table.add(segment.label, clip(segment.span, step.span).length_ns());
                    }
                  }
                  tables.back().push_back(table);
                }
              }
              return tables;
            }),
            0.5)
      << "only where the host runs ahead";
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

// The accounting against machines that run loops as CUPTI records them: DDP on two ranks, DP on two
// devices, CUDA graphs. And accountings that are wrong in what is special to these, which must not
// pass.
#include "profiler/diagnose/collectives.h"
#include "profiler/diagnose/measure.h"
#include "tests/diagnose/cuda_kinds.h"
#include "tests/diagnose/oracle.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::uint32_t kSeeds = 200;
constexpr std::uint32_t kWrongSeeds = 100;

class CudaOracle : public testing::TestWithParam<CudaKind> {};

// The scenarios say which stream is the main one; the accounting finds it by compute time.
bool computes_most_on_main_stream(const Trace& trace) {
  std::map<std::pair<std::int32_t, std::int64_t>, std::int64_t> compute_ns;
  for (const Work& work : trace.work) {
    if (work.activity != Activity::compute) continue;
    compute_ns[{work.device, work.stream}] += work.span.length_ns();
  }
  return std::ranges::all_of(compute_ns, [&](const auto& entry) {
    const auto& [device, stream] = entry.first;
    return stream == kMainStream || entry.second < compute_ns[{device, kMainStream}];
  });
}

Run to_run(const std::vector<Simulation>& simulations) {
  Run run;
  for (const Simulation& simulation : simulations) run.ranks.push_back(simulation.trace);
  return run;
}

// Communication, which is measured beside the table.
void check_overlap(const StepFigures& step, const Overlap& truth, bool has_waits) {
  EXPECT_EQ(step.communication_ns, truth.communication_ns);
  EXPECT_EQ(step.hidden_communication_ns, truth.hidden_communication_ns);
  EXPECT_EQ(step.gradient_all_reduces.total_ns, truth.total_ns);
  EXPECT_EQ(step.gradient_all_reduces.hidden_ns, truth.hidden_ns);
  if (!has_waits) return;
  EXPECT_EQ(step.gradient_all_reduces.exposed_wait_ns, truth.exposed_wait_ns);
  EXPECT_EQ(step.gradient_all_reduces.exposed_transfer_ns, truth.exposed_transfer_ns);
}

// The tables of a rank, whose communication is checked on the way.
Tables measure(const Simulation& simulation, const MatchedCollectives& matched, std::size_t rank) {
  const auto& timings = matched.timings[rank];
  EXPECT_EQ(timings.size(), simulation.timings.size());
  for (std::size_t i = 0; i < timings.size(); ++i) EXPECT_EQ(timings[i], simulation.timings[i]);
  Tables tables;
  for (const DeviceTimeline& timeline : find_timelines(simulation.trace)) {
    const auto& overlaps = simulation.overlaps[tables.size()];
    tables.emplace_back();
    for (const StepFigures& step :
         measure_steps(timeline, simulation.trace, timings, matched.are_known)) {
      EXPECT_EQ(step.breakdown.total_ns() - step.window_ns, 0) << "the residual";
      check_overlap(step, overlaps[tables.back().size()], matched.are_known);
      tables.back().push_back(step.breakdown);
    }
  }
  return tables;
}

TEST_P(CudaOracle, AgreesOnEveryStepOfEveryDevice) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    const auto simulations = GetParam().simulate(seed);
    const MatchedCollectives matched = match_collectives(to_run(simulations));
    EXPECT_EQ(matched.issues, std::vector<Issue>{});
    for (std::size_t rank = 0; rank < simulations.size(); ++rank) {
      const Simulation& simulation = simulations[rank];
      ASSERT_TRUE(computes_most_on_main_stream(simulation.trace)) << "seed " << seed;
      const double error = worst_error(measure(simulation, matched, rank), simulation.truth);
      ASSERT_LE(error, kTolerance) << "seed " << seed;
      ASSERT_EQ(error, 0) << "within the tolerance, but both books are kept in integers; seed "
                          << seed;
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// A wrong accounting must be found out in at least this many of kWrongSeeds scenarios.
struct Wrong {
  const char* what;
  Tables (*account)(const Trace&);
  int least;
};

void expect_caught(const CudaKind& kind, const std::vector<Wrong>& wrongs) {
  std::vector<int> caught(wrongs.size(), 0);
  for (std::uint32_t seed = 0; seed < kWrongSeeds; ++seed) {
    const Simulation simulation = kind.simulate(seed).front();
    for (std::size_t i = 0; i < wrongs.size(); ++i) {
      const Tables tables = wrongs[i].account(simulation.trace);
      if (worst_error(tables, simulation.truth) > kTolerance) ++caught[i];
    }
  }
  for (std::size_t i = 0; i < wrongs.size(); ++i) {
    EXPECT_GE(caught[i], wrongs[i].least) << kind.name << ": " << wrongs[i].what;
  }
}

// A correlation that passed through a float: neighbours become one.
Tables round_correlations(const Trace& trace) {
  Trace changed = trace;
  const auto round = [](std::int64_t& correlation) {
    correlation = static_cast<std::int64_t>(static_cast<float>(correlation));
  };
  for (Work& work : changed.work) round(work.correlation);
  for (Call& call : changed.calls) round(call.correlation);
  return account(changed);
}

Tables let_no_call_wait(const Trace& trace) {
  Trace changed = trace;
  for (Call& call : changed.calls) call.synchronizes = false;
  return account(changed);
}

// Threads without scopes are in `other`, not in main's phase.
Tables leave_autograd_alone(const Trace& trace) {
  Trace changed = trace;
  for (std::uint32_t i = 0; i < trace.threads.size(); ++i) {
    if (!trace.threads[i].name.starts_with("autograd")) continue;
    changed.scopes.push_back({.span = {-1, trace.threads[i].life.end_ns + 1},
                              .thread = {i},
                              .phase = Phase::other,
                              .name = trace.scopes.front().name,
                              .cpu_ns = {},
                              .replica = {}});
  }
  return account(changed);
}

Tables keep_all_reduces_in_backward(const Trace& trace) {
  Trace changed = trace;
  for (Collective& collective : changed.collectives) collective.gradient = false;
  return account(changed);
}

Tables count_peer_copies_as_copies(const Trace& trace) {
  Trace changed = trace;
  std::vector<bool> carries(trace.work.size(), false);
  for (const Collective& collective : trace.collectives) carries[*collective.work] = true;
  for (std::size_t i = 0; i < trace.work.size(); ++i) {
    Work& work = changed.work[i];
    if (work.activity == Activity::communication && !carries[i]) work.activity = Activity::copy;
  }
  return account(changed);
}

Tables use_launch_phases(const Trace& trace) {
  Trace changed = trace;
  for (Work& work : changed.work) work.captured_phase.reset();
  return account(changed);
}

// The first piece of work of a launch takes it, the others have none.
Tables let_a_launch_have_one_work(const Trace& trace) {
  Trace changed = trace;
  std::set<std::int64_t> taken;
  for (Work& work : changed.work) {
    if (!taken.insert(work.correlation).second) work.correlation = 0;
  }
  return account(changed);
}

TEST(CudaOracleItself, CatchesWrongAccountingsOfDdp) {
  expect_caught(kDdpKind, {{"communication hides compute", hide_compute, 95},
                           {"all stalls are the host's", blame_hosts, 85},
                           {"windows are the host's spans", use_host_windows, 50},
                           {"correlations are rounded", round_correlations, 95},
                           {"no call waits", let_no_call_wait, 30},
                           {"autograd is in no phase", leave_autograd_alone, 95},
                           {"all-reduces are in backward", keep_all_reduces_in_backward, 95}});
}

TEST(CudaOracleItself, CatchesWrongAccountingsOfDp) {
  expect_caught(kDpKind, {{"communication hides compute", hide_compute, 80},
                          {"all stalls are the host's", blame_hosts, 95},
                          {"stalls have the phase of the next work", use_next_phases, 95},
                          {"correlations are rounded", round_correlations, 95},
                          {"no call waits", let_no_call_wait, 30},
                          {"autograd is in no phase", leave_autograd_alone, 95},
                          {"peer copies are copies", count_peer_copies_as_copies, 95}});
}

TEST(CudaOracleItself, CatchesWrongAccountingsOfGraphs) {
  expect_caught(kGraphKind, {{"all stalls are the host's", blame_hosts, 90},
                             {"windows are the host's spans", use_host_windows, 70},
                             {"phases are those of launches", use_launch_phases, 95},
                             {"a launch has one piece of work", let_a_launch_have_one_work, 70},
                             {"no call waits", let_no_call_wait, 10}});
}

TEST(CudaOracleItself, CatchesWaitsForThoseWhoseDataNobodyNeeds) {
  int caught = 0;
  for (std::uint32_t seed = 0; seed < kWrongSeeds; ++seed) {
    const auto simulations = kDpKind.simulate(seed);
    auto run = to_run(simulations);
    for (Collective& one : run.ranks.front().collectives) one.kind = CollectiveKind::barrier;
    const auto timings = match_collectives(run).timings.front();
    bool differs = false;
    for (std::size_t i = 0; i < timings.size(); ++i) {
      differs = differs || timings[i] != simulations.front().timings[i];
    }
    caught += differs ? 1 : 0;
  }
  EXPECT_GE(caught, 80);
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaOracle, testing::ValuesIn(kCudaKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace ddpprof::test

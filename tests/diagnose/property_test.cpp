// What must hold for every recording, over thousands of random ones.
#include "profiler/diagnose/diagnose.h"
#include "profiler/diagnose/measure.h"
#include "profiler/diagnose/timeline.h"
#include "tests/diagnose/random_trace.h"

#include <algorithm>
#include <optional>
#include <random>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::uint32_t kSeeds = 1000;  // of each kind of device

template <typename Check>
void for_random_traces(Check check) {
  for (std::uint32_t seed = 0; seed < kSeeds && !testing::Test::HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check(random_device_trace(seed), seed);
    if (testing::Test::HasFatalFailure()) break;
    check(random_thread_trace(seed, seed % 2 == 1), seed);
    if (testing::Test::HasFatalFailure()) break;
    check(random_phase_trace(seed), seed);
  }
}

TEST(Property, SegmentsCoverEveryWindowExactlyAndInOrder) {
  std::int64_t windows_count = 0;
  for_random_traces([&](const Trace& trace, std::uint32_t) {
    for (const DeviceTimeline& timeline : find_timelines(trace)) {
      ASSERT_EQ(timeline.windows.size(), timeline.segments.size());
      std::int64_t last_end = INT64_MIN;
      for (std::size_t i = 0; i < timeline.windows.size(); ++i) {
        const Window& window = timeline.windows[i];
        ++windows_count;
        ASSERT_LE(last_end, window.span.begin_ns) << "no instant is in two windows";
        last_end = window.span.end_ns;
        std::int64_t at = window.span.begin_ns;
        for (const Segment& segment : timeline.segments[i]) {
          ASSERT_EQ(segment.span.begin_ns, at);
          ASSERT_GT(segment.span.end_ns, at);
          ASSERT_NE(segment.label.activity.has_value(), times_phases_alone(trace));
          at = segment.span.end_ns;
        }
        ASSERT_EQ(at, window.span.end_ns);
        ASSERT_EQ(break_down(timeline.segments[i]).total_ns(), window.span.length_ns());
      }
    }
  });
  EXPECT_GT(windows_count, 10'000);
}

TEST(Property, WindowsOfARowTouch) {
  for_random_traces([](const Trace& trace, std::uint32_t) {
    for (const DeviceTimeline& timeline : find_timelines(trace)) {
      for (std::size_t i = 1; i < timeline.windows.size(); ++i) {
        const Window &last = timeline.windows[i - 1], &next = timeline.windows[i];
        if (last.visit != next.visit || last.step + 1 != next.step) continue;
        ASSERT_EQ(last.span.end_ns, next.span.begin_ns);
      }
    }
  });
}

TEST(Property, TheTableHoldsComputeAndExposedCommunicationAsIntervalSetsDo) {
  for_random_traces([](const Trace& trace, std::uint32_t /*seed*/) {
    for (const DeviceTimeline& timeline : find_timelines(trace)) {
      ASSERT_NE(timeline.compute.has_value(), times_phases_alone(trace));
      if (!timeline.compute) continue;
      const auto compute_ns = lengths_in(*timeline.compute, timeline.windows);
      const auto exposed_ns =
          lengths_in(subtract(timeline.communication.value(), *timeline.compute), timeline.windows);
      for (std::size_t i = 0; i < timeline.windows.size(); ++i) {
        const Breakdown table = break_down(timeline.segments[i]);
        ASSERT_EQ(table.of(Activity::communication), exposed_ns[i]);
        ASSERT_EQ(table.of(Activity::compute), compute_ns[i]);
      }
    }
  });
}

TEST(Property, TheOrderOfTheRecordsChangesNothing) {
  for_random_traces([](const Trace& trace, std::uint32_t seed) {
    const auto straight = find_timelines(trace), shuffled = find_timelines(shuffle(trace, seed));
    ASSERT_EQ(straight.size(), shuffled.size());
    for (std::size_t device = 0; device < straight.size(); ++device) {
      ASSERT_EQ(straight[device].windows, shuffled[device].windows);
      ASSERT_EQ(straight[device].segments, shuffled[device].segments);
      ASSERT_EQ(straight[device].compute, shuffled[device].compute);
      ASSERT_EQ(straight[device].communication, shuffled[device].communication);
      ASSERT_EQ(straight[device].contention_ns, shuffled[device].contention_ns);
      ASSERT_TRUE(straight[device].issues.empty()) << "these recordings have no flaw";
    }
  });
}

// An instant strictly inside a segment at which no record begins or ends.
std::optional<std::int64_t> quiet_instant(const Trace& trace, const Segment& segment) {
  const std::int64_t middle = segment.span.begin_ns + segment.span.length_ns() / 2;
  if (middle == segment.span.begin_ns) return std::nullopt;
  const auto is_edge = [&](const auto& record) {
    return record.span.begin_ns == middle || record.span.end_ns == middle;
  };
  if (std::ranges::any_of(trace.work, is_edge) || std::ranges::any_of(trace.scopes, is_edge) ||
      std::ranges::any_of(trace.calls, is_edge) || std::ranges::any_of(trace.steps, is_edge) ||
      std::ranges::any_of(trace.collectives, is_edge) ||
      std::ranges::any_of(trace.device_phases, is_edge)) {
    return std::nullopt;
  }
  return middle;
}

TEST(Property, ADelayAppearsWhereItWasPutWithItsLengthAndNowhereElse) {
  // Short, so that it does not make another stream the one with most compute.
  constexpr std::int64_t kDelayNs = 7;
  std::int64_t delays_count = 0;
  for_random_traces([&](const Trace& trace, std::uint32_t seed) {
    // A deficit of CPU time has no place of its own, so it cannot be delayed into.
    if (trace.info.devices_are_threads && seed % 2 == 1) return;
    const auto before = find_timelines(trace);
    const std::size_t device = seed % before.size();
    const std::size_t step = seed % std::max<std::size_t>(1, before[device].windows.size());
    if (step >= before[device].segments.size() || before[device].segments[step].empty()) return;
    const auto& segments = before[device].segments[step];
    const Segment& segment = segments[seed % segments.size()];
    const auto instant = quiet_instant(trace, segment);
    if (!instant) return;
    const auto after = find_timelines(delay(trace, *instant, kDelayNs));
    Breakdown expected = break_down(segments);
    expected.add(segment.label, kDelayNs);
    ASSERT_EQ(break_down(after[device].segments[step]), expected);
    for (std::size_t other = 0; other < before[device].segments.size(); ++other) {
      if (other == step) continue;
      ASSERT_EQ(break_down(after[device].segments[other]),
                break_down(before[device].segments[other]));
    }
    ++delays_count;
  });
  EXPECT_GT(delays_count, 700);
}

Diagnosis diagnose_pair(const Trace& single, const Trace& ddp) {
  DiagnoseInput input;
  for (const auto& [key, trace] : {std::pair{"single", &single}, std::pair{"ddp", &ddp}}) {
    StrategyInput strategy;
    strategy.key = key;
    strategy.processes = strategy.devices = 1;
    strategy.global_batch = 32;
    strategy.run.ranks = {*trace};
    input.strategies.push_back(strategy);
  }
  return diagnose(input);
}

TEST(Property, ARunComparedWithItselfFindsNoDifference) {
  int compared_count = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Trace trace = seed % 2 == 0 ? random_device_trace(seed) : random_thread_trace(seed, true);
    const Diagnosis diagnosis = diagnose_pair(trace, trace);
    ASSERT_EQ(diagnosis.strategies[0].shown.breakdown, diagnosis.strategies[1].shown.breakdown);
    if (!diagnosis.comparison.ddp_over_single) continue;  // a window without length
    ++compared_count;
    ASSERT_DOUBLE_EQ(diagnosis.comparison.ddp_over_single->value, 1);
    ASSERT_DOUBLE_EQ(diagnosis.comparison.ddp_efficiency->value, 1);
    if (const auto interval = diagnosis.comparison.ddp_over_single->ci95) {
      ASSERT_LE(interval->lo, 1);
      ASSERT_GE(interval->hi, 1);
    }
  }
  EXPECT_GT(compared_count, 30);
}

StrategyDiagnosis diagnose_job(std::vector<Trace> traces) {
  StrategyInput strategy;
  strategy.key = "ddp";
  strategy.run.ranks = std::move(traces);
  DiagnoseInput input;
  input.strategies = {strategy};
  return diagnose(input).strategies.front();
}

// Two ranks of a job that take part in the same collectives.
std::vector<Trace> random_job(std::uint32_t seed) {
  std::vector<Trace> traces{random_thread_trace(seed, true), random_thread_trace(seed + 1, true)};
  traces[1].steps = traces[0].steps;
  traces[1].names = traces[0].names;
  traces[1].scopes.clear();
  traces[1].collectives = traces[0].collectives;
  for (std::size_t i = 0; i < traces[1].collectives.size(); ++i) {
    Span& span = traces[1].collectives[i].span;
    span.begin_ns +=
        std::min<std::int64_t>(static_cast<std::int64_t>(i) * 40, span.length_ns() - 1);
  }
  for (Trace& trace : traces) {
    for (Thread& thread : trace.threads) thread.replica.reset();
    trace.info.world_size = 2;
    trace.info.boot_id = "one boot";
  }
  traces[1].info.rank = 1;
  return traces;
}

// Ends moved, steps and devices changed: what a recorder must never deliver.
Trace break_phases(Trace trace, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](std::int64_t limit) { return static_cast<std::int64_t>(random()) % limit; };
  for (DevicePhase& phase : trace.device_phases) {
    if (pick(4) == 0) phase.span.begin_ns += pick(3000) - 1500;
    if (pick(4) == 0) phase.span.end_ns += pick(3000) - 1500;
    if (pick(12) == 0) phase.step += pick(3) - 1;
    if (pick(12) == 0) phase.device = static_cast<std::int32_t>(pick(2));
  }
  return trace;
}

TEST(Property, BrokenPhasesStillCoverEveryWindowAndAreCounted) {
  std::int64_t issues_count = 0;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const Trace trace = break_phases(random_phase_trace(seed), seed);
    const auto straight = find_timelines(trace), shuffled = find_timelines(shuffle(trace, seed));
    for (std::size_t device = 0; device < straight.size(); ++device) {
      const DeviceTimeline& timeline = straight[device];
      for (std::size_t i = 0; i < timeline.windows.size(); ++i) {
        const Span window = timeline.windows[i].span;
        ASSERT_EQ(break_down(timeline.segments[i]).total_ns(), window.length_ns());
        const std::int64_t last_end = i == 0 ? INT64_MIN : timeline.windows[i - 1].span.end_ns;
        ASSERT_LE(last_end, window.begin_ns);
      }
      ASSERT_EQ(timeline.windows, shuffled[device].windows);
      ASSERT_EQ(timeline.segments, shuffled[device].segments);
      ASSERT_EQ(timeline.issues, shuffled[device].issues);
      issues_count += static_cast<std::int64_t>(timeline.issues.size());
    }
  }
  EXPECT_GT(issues_count, kSeeds);
}

// The job's ranks again, with phases timed on one device each instead of scopes on threads.
std::vector<Trace> random_phase_job(std::uint32_t seed) {
  std::vector<Trace> traces = random_job(seed);
  for (Trace& trace : traces) {
    trace.info.devices_are_threads = false;
    trace.info.devices.resize(1);
    trace.scopes.clear();
    for (Collective& collective : trace.collectives) collective.device = 0;
    for (const Step& step : trace.steps) {
      const std::int64_t middle = step.span.begin_ns + step.span.length_ns() / 3;
      trace.device_phases.push_back({{step.span.begin_ns, middle}, 0, step.index, Phase::forward});
      trace.device_phases.push_back({{middle, step.span.end_ns}, 0, step.index, Phase::backward});
    }
  }
  return traces;
}

TEST(Property, OfPhasesAloneNothingIsSaidThatWasNotMeasured) {
  std::int64_t all_reduces_count = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const StrategyDiagnosis diagnosis = diagnose_job(random_phase_job(seed));
    ASSERT_EQ(diagnosis.shown.residual_ns(), 0);
    ASSERT_FALSE(diagnosis.shown.communication_ns || diagnosis.shown.hidden_communication_ns ||
                 diagnosis.shown.contention_ns || diagnosis.shown.spill_ns);
    ASSERT_FALSE(diagnosis.counts.contains("launch"));
    ASSERT_TRUE(diagnosis.issues.empty());
    for (const RankFigures& row : diagnosis.per_rank) {
      ASSERT_EQ(row.figures.residual_ns(), 0);
      if (!row.all_reduce) continue;
      ASSERT_FALSE(row.all_reduce->hidden_ns || row.all_reduce->exposed_wait_ns ||
                   row.all_reduce->exposed_transfer_ns);
      ASSERT_TRUE(row.all_reduce->wait_ns && row.all_reduce->transfer_ns);
      ++all_reduces_count;
    }
  }
  EXPECT_GT(all_reduces_count, 200);
}

TEST(Property, RenamingTheRanksChangesNothingButTheirNames) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<Trace> traces = random_job(seed);
    const StrategyDiagnosis straight = diagnose_job(traces);
    std::swap(traces[0].info.rank, traces[1].info.rank);
    const StrategyDiagnosis renamed = diagnose_job(traces);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const RankFigures &a = straight.per_rank[rank], &b = renamed.per_rank[1 - rank];
      ASSERT_EQ(a.figures.breakdown, b.figures.breakdown);
      ASSERT_EQ(a.figures.communication_ns, b.figures.communication_ns);
      ASSERT_EQ(a.wait_ns, b.wait_ns);
      ASSERT_EQ(a.transfer_ns, b.transfer_ns);
    }
    ASSERT_EQ(straight.shown.window_ns, renamed.shown.window_ns);
  }
}

TEST(Property, EveryTableOfADiagnosisAddsUpToItsWindow) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const StrategyDiagnosis diagnosis = diagnose_job(random_job(seed));
    ASSERT_EQ(diagnosis.shown.residual_ns(), 0);
    for (const RankFigures& row : diagnosis.per_rank) ASSERT_EQ(row.figures.residual_ns(), 0);
    if (!diagnosis.all_reduce || !diagnosis.all_reduce->exposed_wait_ns) continue;
    const AllReduceFigures& figures = *diagnosis.all_reduce;
    ASSERT_EQ(*figures.exposed_wait_ns + *figures.exposed_transfer_ns,
              figures.total_ns - figures.hidden_ns.value());
    ASSERT_GE(*figures.exposed_wait_ns, 0);
  }
}

}  // namespace
}  // namespace ddpprof::test

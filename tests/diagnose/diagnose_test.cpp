#include "profiler/diagnose/diagnose.h"

#include "profiler/trace/error.h"
#include "tests/diagnose/ranks.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

StrategyInput input_of(std::string key, Run run) {
  StrategyInput input;
  input.key = std::move(key);
  input.processes = static_cast<std::int32_t>(run.ranks.size());
  input.devices = input.processes;
  input.global_batch = 64;
  input.run = std::move(run);
  return input;
}

Run single_run() {
  return ranks(
      {draw_on_threads({steps("0000011111..2222233333"),
                        scopes(Phase::forward, "##...##.....##...##...", {.computes = true}),
                        scopes(Phase::backward, "..##...##.....##...##.", {.computes = true})})});
}

Run ddp_run() {
  const std::vector<Row> early{steps("000000111111"),
                               scopes(Phase::backward, "###...###...", {.computes = true}),
                               collectives("...aaa...bbb", {.bucket = 0, .ready_columns = {2, 8}})};
  const std::vector<Row> late{steps("000000111111"),
                              scopes(Phase::backward, "#####.#####.", {.computes = true}),
                              collectives("....aa....bb", {.bucket = 0, .ready_columns = {4, 10}})};
  return ranks({draw_on_threads(early), draw_on_threads(late)});
}

DiagnoseInput both() {
  DiagnoseInput input;
  input.workload.name = "digits-mlp";
  input.tool.version = "0.1.0";
  input.strategies = {input_of("ddp", ddp_run()), input_of("single", single_run())};
  return input;
}

TEST(Diagnose, PutsTheStrategiesInOrderAndKeepsWhatItWasTold) {
  DiagnoseInput input = both();
  input.strategies.push_back(input_of("zebra", single_run()));
  input.strategies.push_back(input_of("apple", single_run()));
  input.strategies[0].loss = LossFigures{2.5, 0.5};
  const Diagnosis diagnosis = diagnose(input);
  std::vector<std::string> keys;
  for (const auto& strategy : diagnosis.strategies) keys.push_back(strategy.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"single", "ddp", "apple", "zebra"}));
  EXPECT_EQ(diagnosis.workload.name, "digits-mlp");
  EXPECT_EQ(diagnosis.tool.version, "0.1.0");
  EXPECT_EQ(diagnosis.strategies[1].loss->last, 0.5);
  EXPECT_EQ(diagnosis.strategies[1].processes, 2);
}

TEST(Diagnose, ShowsEachStepOfItsCriticalDevice) {
  const StrategyDiagnosis ddp = diagnose(both()).strategies[1];
  EXPECT_EQ(ddp.critical_rank, 1);
  EXPECT_EQ(ddp.shown.steps_count, 2);
  EXPECT_EQ(ddp.shown.window_ns, 12 * kColumnNs);
  EXPECT_EQ(ddp.shown.residual_ns(), 0);
  EXPECT_EQ(ddp.shown.breakdown.of(Activity::compute), 10 * kColumnNs);
  EXPECT_EQ(ddp.shown.breakdown.of(Phase::all_reduce), 2 * kColumnNs);
  EXPECT_EQ(ddp.all_reduce->wait_ns, 0);
  EXPECT_EQ(ddp.all_reduce->transfer_ns, 4 * kColumnNs);
  ASSERT_EQ(ddp.per_rank.size(), 2U);
  EXPECT_EQ(ddp.per_rank[0].all_reduce->wait_ns, 2 * kColumnNs);
  EXPECT_EQ(ddp.per_rank[0].figures.residual_ns(), 0);
  ASSERT_EQ(ddp.buckets.size(), 1U);
  EXPECT_DOUBLE_EQ(ddp.buckets[0].start_ms, 0.004);
}

TEST(Diagnose, TakesStepTimesFromTheRecordedWindowsOfEachVisitWhereThereAreNoOthers) {
  const StrategyDiagnosis single = diagnose(both()).strategies[0];
  EXPECT_TRUE(single.step_times->recorded);
  EXPECT_EQ(single.step_times->rounds_ms, (Rounds{{0.005, 0.005}, {0.005, 0.005}}));
  EXPECT_FALSE(single.overhead);
  EXPECT_FALSE(single.all_reduce);
}

TEST(Diagnose, PrefersTheTimesThatWereTakenWithoutRecording) {
  DiagnoseInput input = both();
  input.strategies[1].unrecorded_ms = Rounds{{4, 4, 4}, {4, 4, 4}};
  input.strategies[1].recorded_ms = Rounds{{5, 5, 5}, {5, 5, 5}};
  const StrategyDiagnosis single = diagnose(input).strategies[0];
  EXPECT_FALSE(single.step_times->recorded);
  EXPECT_EQ(flatten(single.step_times->rounds_ms).size(), 6U);
  EXPECT_DOUBLE_EQ(single.overhead->value, 0.25);
}

TEST(Diagnose, ComparesAndSaysSo) {
  const Diagnosis diagnosis = diagnose(both());
  EXPECT_DOUBLE_EQ(diagnosis.comparison.ddp_over_single->value, 1.2);
  EXPECT_NE(diagnosis.verdict.find("1.20 times"), std::string::npos) << diagnosis.verdict;
}

TEST(Diagnose, DividesWhatWasCountedByTheSteps) {
  DiagnoseInput input = both();
  input.strategies[1].run.ranks[0].info.counts = {{"forward", 8}, {"optimizer", 4}};
  input.strategies.push_back(input_of("dp", ranks({draw({steps("00001111"), calls("ab..c..."),  //
                                                         work(Activity::compute, "..ab.c.#")})})));
  const Diagnosis diagnosis = diagnose(input);
  EXPECT_EQ(diagnosis.strategies[0].counts,
            (std::map<std::string, double>{{"forward", 2}, {"optimizer", 1}}));
  EXPECT_EQ(diagnosis.strategies[1].counts, (std::map<std::string, double>{{"launch", 2}}));
}

TEST(Diagnose, AddsUpWhatTheRanksSayOfThemselves) {
  DiagnoseInput input = both();
  auto& traces = input.strategies[0].run.ranks;
  for (Trace& trace : traces) {
    trace.info.dropped_records = 3;
    trace.info.peak_memory_bytes = {100 + trace.info.rank};
    trace.issues = {{"clock-jump", "the clock jumped", 2}};
  }
  traces[0].info.clock_uncertainty_ns = 5;
  traces[1].info.clock_uncertainty_ns = 9;
  traces[0].info.ddp_logging_numbers = {{"world_size", 2}};
  const StrategyDiagnosis ddp = diagnose(input).strategies[1];
  EXPECT_EQ(ddp.dropped_records, 6);
  EXPECT_EQ(ddp.peak_memory_bytes, (std::vector<std::optional<std::int64_t>>{100, 101}));
  EXPECT_EQ(ddp.issues, (std::vector<Issue>{{"clock-jump", "the clock jumped", 4}}));
  EXPECT_EQ(ddp.ddp_logging_numbers.at("world_size"), 2);
  EXPECT_EQ(ddp.clock_uncertainty_ns, 0) << "ranks of one boot share a clock";
  traces[0].info.device_clock_uncertainty_ns = 20;
  EXPECT_EQ(diagnose(input).strategies[1].clock_uncertainty_ns, 20) << "of its device's times";
  for (Trace& trace : traces) trace.info.boot_id.clear();
  EXPECT_EQ(diagnose(input).strategies[1].clock_uncertainty_ns, 25);
  traces[1].info.clock_uncertainty_ns.reset();
  EXPECT_EQ(diagnose(input).strategies[1].clock_uncertainty_ns, std::nullopt);
}

TEST(Diagnose, NamesTheRecorderWhereAllRanksAgree) {
  DiagnoseInput input = both();
  auto& traces = input.strategies[0].run.ranks;
  EXPECT_EQ(diagnose(input).strategies[1].recorder, std::nullopt) << "nobody says";
  traces[0].info.recorder = kCuptiRecorder;
  EXPECT_EQ(diagnose(input).strategies[1].recorder, std::nullopt) << "one does not say";
  traces[1].info.recorder = kEventRecorder;
  EXPECT_EQ(diagnose(input).strategies[1].recorder, std::nullopt) << "they disagree";
  traces[1].info.recorder = kCuptiRecorder;
  EXPECT_EQ(diagnose(input).strategies[1].recorder, "cupti");
}

TEST(Diagnose, SortsTheRanksItself) {
  DiagnoseInput input = both();
  std::swap(input.strategies[0].run.ranks[0], input.strategies[0].run.ranks[1]);
  const StrategyDiagnosis ddp = diagnose(input).strategies[1];
  EXPECT_EQ(ddp.critical_rank, 1);
  EXPECT_EQ(ddp.per_rank[0].rank, 0);
}

TEST(Diagnose, ThrowsWithTheStrategysNameWhenItHasNoStep) {
  DiagnoseInput input = both();
  for (Trace& trace : input.strategies[0].run.ranks) trace.steps.clear();
  try {
    diagnose(input);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "ddp");
    EXPECT_FALSE(error.hint.empty());
  }
}

}  // namespace
}  // namespace ddpprof::test

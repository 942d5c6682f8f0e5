#include "tests/reports/sample_diagnosis.h"

namespace ddpprof::test {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Two steps of 10 ms: forward 4, backward 5 of which 1 is preempted, all-reduce 1.
DeviceFigures figures(bool with_all_reduce) {
  DeviceFigures out;
  out.steps_count = 2;
  out.window_ns = 20 * kMs;
  out.communication_ns = out.hidden_communication_ns = out.spill_ns = 0;
  out.breakdown.add({Phase::forward, Activity::compute, {}}, 8 * kMs);
  out.breakdown.add({Phase::backward, Activity::compute, {}}, 8 * kMs);
  out.breakdown.add({Phase::backward, Activity::stall, {}}, 2 * kMs);
  if (with_all_reduce) {
    out.breakdown.add({Phase::all_reduce, Activity::communication, {}}, 2 * kMs);
    out.communication_ns = 6 * kMs;
    out.hidden_communication_ns = 4 * kMs;
  } else {
    out.breakdown.add({Phase::optimizer, Activity::compute, {}}, 2 * kMs);
  }
  return out;
}

// Two steps of 10 ms of which phases alone are known: forward 4, backward 5, optimizer 1.
DeviceFigures phase_figures() {
  DeviceFigures out;
  out.steps_count = 2;
  out.window_ns = 20 * kMs;
  out.breakdown.add({Phase::forward, {}, {}}, 8 * kMs);
  out.breakdown.add({Phase::backward, {}, {}}, 10 * kMs);
  out.breakdown.add({Phase::optimizer, {}, {}}, 2 * kMs);
  return out;
}

StrategyDiagnosis strategy(const std::string& key, std::int32_t devices, double step_ms) {
  StrategyDiagnosis out;
  out.key = key;
  out.processes = key == "ddp" ? devices : 1;
  out.devices = devices;
  out.global_batch = 64;
  out.step_times =
      StepTimes{.rounds_ms = {{step_ms, step_ms + 1}, {step_ms, step_ms - 1}, {step_ms, step_ms}},
                .recorded = false};
  out.overhead = Estimate{0.021, Interval{0.012, 0.03}};
  out.shown = figures(key == "ddp");
  out.critical_rank = 0;
  out.counts = {{"forward", 1}, {"optimizer", 1}, {"replicate", key == "dp" ? 1.0 : 0.0}};
  out.loss = LossFigures{2.3, 0.4};
  if (key == "ddp") {
    out.all_reduce = AllReduceFigures{.steps_count = 2,
                                      .count = 4,
                                      .bytes = 2'000'000,
                                      .total_ns = 6 * kMs,
                                      .hidden_ns = 4 * kMs,
                                      .exposed_wait_ns = kMs,
                                      .exposed_transfer_ns = kMs,
                                      .wait_ns = 2 * kMs,
                                      .transfer_ns = 4 * kMs,
                                      .world_size = 2};
    out.buckets = {{.index = 0,
                    .bytes = 1'000'000,
                    .ready_ms = 6,
                    .queued_ms = 0.5,
                    .start_ms = 6.5,
                    .end_ms = 8}};
    out.ddp_logging_numbers = {{"num_buckets_reduced", 2}};
    out.ddp_logging_texts = {{"backend_name", "gloo"}};
    out.clock_uncertainty_ns = 0;
  }
  for (std::int32_t rank = 0; rank < out.processes; ++rank) {
    out.per_rank.push_back({.rank = rank,
                            .device = 0,
                            .device_name = "cpu:" + std::to_string(rank),
                            .figures = out.shown,
                            .all_reduce = out.all_reduce,
                            .wait_ns = {},
                            .transfer_ns = {}});
  }
  return out;
}

}  // namespace

Diagnosis sample_diagnosis() {
  Diagnosis out;
  out.tool = {"0.1.0", "abc1234"};
  out.workload = {.name = "digits-mlp",
                  .model = "mlp 64-256-256-10",
                  .dtype = "fp32",
                  .global_batch = 64,
                  .parameters_count = 85002,
                  .gradient_bytes = 340008,
                  .sequence_length = {},
                  .micro_steps = 1};
  out.machine.devices = {{"CPU", 1000}, {"CPU", 1000}};
  out.machine.cpu_count = 2;
  out.machine.torch = "2.11.0";
  out.strategies = {strategy("single", 1, 10), strategy("dp", 2, 20), strategy("ddp", 2, 13)};
  out.comparison.dp_over_single = Estimate{2.0, Interval{1.9, 2.1}};
  out.comparison.ddp_over_single = Estimate{1.3, Interval{1.25, 1.35}};
  out.comparison.ddp_efficiency = Estimate{0.38, std::nullopt};
  out.findings = {{.id = "D20",
                   .code = "launch-bound",
                   .strategy = "ddp",
                   .severity = Severity::critical,
                   .claim = "claim",
                   .advice = "advice",
                   .ms_per_step = 4,
                   .predicted_step_ms = {},
                   .evidence = {{"stall_ms", 4, "ms"}}}};
  out.unjudged = {{"D24", "cpu-threads", "no thread counts"}};
  out.verdict =
      "A DDP step on 2 devices takes 13.0 ms against 10.0 ms on one device: 1.30 times as long.";
  return out;
}

void forget_activities(StrategyDiagnosis& strategy) {
  strategy.shown = phase_figures();
  const auto forget = [](std::optional<AllReduceFigures>& all_reduce) {
    if (!all_reduce) return;
    all_reduce->hidden_ns.reset();
    all_reduce->exposed_wait_ns.reset();
    all_reduce->exposed_transfer_ns.reset();
  };
  forget(strategy.all_reduce);
  for (RankFigures& rank : strategy.per_rank) {
    rank.figures = strategy.shown;
    forget(rank.all_reduce);
  }
  strategy.counts.erase("launch");
}

Diagnosis phases_diagnosis() {
  Diagnosis out = sample_diagnosis();
  for (StrategyDiagnosis& strategy : out.strategies) forget_activities(strategy);
  return out;
}

}  // namespace ddpprof::test

#include "reports/json.h"

#include "tests/reports/sample_diagnosis.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ddpprof {
namespace {

using Json = nlohmann::json;

Json parsed(const Diagnosis& diagnosis) { return Json::parse(report_json(diagnosis)); }

TEST(ReportJson, HasEveryNameOfTheContract) {
  const Json report = parsed(test::sample_diagnosis());
  for (const char* key : {"schema", "tool", "workload", "machine", "strategies", "comparison",
                          "findings", "unjudged", "verdict"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  for (const char* key : {"name", "model", "dtype", "global_batch", "parameters_count",
                          "gradient_bytes", "sequence_length", "micro_steps"}) {
    EXPECT_TRUE(report["workload"].contains(key)) << key;
  }
  for (const char* key : {"devices", "link", "cpu_count", "driver", "cuda", "nccl", "torch"}) {
    EXPECT_TRUE(report["machine"].contains(key)) << key;
  }
  for (const char* key :
       {"processes",         "devices",    "global_batch",    "step_ms",
        "samples_per_s",     "overhead",   "window_ms",       "residual_ns",
        "spill_ms",          "breakdown",  "critical_rank",   "per_rank",
        "communication",     "all_reduce", "buckets",         "counts",
        "ddp_logging",       "recorder",   "dropped_records", "clock_uncertainty_ns",
        "peak_memory_bytes", "loss"}) {
    EXPECT_TRUE(report["strategies"]["ddp"].contains(key)) << key;
  }
  for (const char* key : {"median", "p10", "p90", "ci95", "samples", "round_sizes", "recorded"}) {
    EXPECT_TRUE(report["strategies"]["ddp"]["step_ms"].contains(key)) << key;
  }
  for (const char* key :
       {"dp_over_single", "ddp_over_single", "ddp_over_dp", "ddp_efficiency", "dp_efficiency"}) {
    EXPECT_TRUE(report["comparison"].contains(key)) << key;
  }
}

TEST(ReportJson, RowsAreMeansAStepAndSumToTheWindow) {
  const Json ddp = parsed(test::sample_diagnosis())["strategies"]["ddp"];
  EXPECT_DOUBLE_EQ(ddp["window_ms"], 10);
  double sum = 0, share = 0;
  for (const Json& row : ddp["breakdown"]) {
    sum += row["ms"].get<double>();
    share += row["share"].get<double>();
  }
  EXPECT_DOUBLE_EQ(sum, 10);
  EXPECT_DOUBLE_EQ(share, 1);
  EXPECT_EQ(ddp["residual_ns"], 0);
  EXPECT_EQ(ddp["breakdown"][0]["phase"], "forward");
  EXPECT_EQ(ddp["breakdown"][0]["activity"], "compute");
  EXPECT_TRUE(ddp["breakdown"][0]["kind"].is_null());
}

TEST(ReportJson, AllReduceFiguresAreAStepAndBusBandwidthIsOverTransfer) {
  const Json all_reduce = parsed(test::sample_diagnosis())["strategies"]["ddp"]["all_reduce"];
  EXPECT_EQ(all_reduce["count"], 2);
  EXPECT_EQ(all_reduce["bytes"], 1'000'000);
  EXPECT_DOUBLE_EQ(all_reduce["total_ms"], 3);
  EXPECT_DOUBLE_EQ(all_reduce["hidden_ms"], 2);
  EXPECT_DOUBLE_EQ(all_reduce["exposed_ms"], 1);
  // 10^6 bytes in 2 ms, two ranks: 0.5 GB/s x 2 (2 - 1) / 2.
  EXPECT_DOUBLE_EQ(all_reduce["busbw_gb_per_s"], 0.5);
}

TEST(ReportJson, AResidualIsShown) {
  Diagnosis diagnosis = test::sample_diagnosis();
  diagnosis.strategies[2].shown.window_ns += 7;
  EXPECT_EQ(parsed(diagnosis)["strategies"]["ddp"]["residual_ns"], -7);
}

TEST(ReportJson, AbsentIsNull) {
  Diagnosis diagnosis = test::sample_diagnosis();
  StrategyDiagnosis& ddp = diagnosis.strategies[2];
  ddp.step_times.reset();
  ddp.overhead.reset();
  ddp.loss.reset();
  ddp.all_reduce->transfer_ns.reset();
  const Json json = parsed(diagnosis)["strategies"]["ddp"];
  EXPECT_TRUE(json["step_ms"].is_null());
  EXPECT_TRUE(json["samples_per_s"].is_null());
  EXPECT_TRUE(json["overhead"].is_null());
  EXPECT_TRUE(json["loss"].is_null());
  EXPECT_TRUE(json["all_reduce"]["transfer_ms"].is_null());
  EXPECT_TRUE(json["all_reduce"]["busbw_gb_per_s"].is_null());
  EXPECT_TRUE(json["counts"]["launch"].is_null());
  EXPECT_EQ(json["counts"]["replicate"], 0);
}

TEST(ReportJson, OfPhasesAloneTheRowsHaveNoActivityAndSumToTheWindow) {
  const Json ddp = parsed(test::phases_diagnosis())["strategies"]["ddp"];
  ASSERT_EQ(ddp["breakdown"].size(), 3U);
  double sum = 0;
  for (const Json& row : ddp["breakdown"]) {
    EXPECT_TRUE(row.at("activity").is_null());
    EXPECT_TRUE(row.at("kind").is_null());
    sum += row["ms"].get<double>();
  }
  EXPECT_EQ(ddp["breakdown"][0]["phase"], "forward");
  EXPECT_DOUBLE_EQ(ddp["breakdown"][0]["share"], 0.4);
  EXPECT_DOUBLE_EQ(sum, ddp["window_ms"].get<double>());
  EXPECT_EQ(ddp["residual_ns"], 0);
}

TEST(ReportJson, OfPhasesAloneWhatNeedsActivitiesIsNullAndWhatCollectivesTellIsNot) {
  const Json ddp = parsed(test::phases_diagnosis())["strategies"]["ddp"];
  EXPECT_TRUE(ddp.at("spill_ms").is_null());
  for (const char* key : {"total_ms", "hidden_ms", "exposed_ms", "contention_ms"}) {
    EXPECT_TRUE(ddp["communication"].at(key).is_null()) << key;
  }
  EXPECT_TRUE(ddp["per_rank"][0].at("communication_ms").is_null());
  EXPECT_TRUE(ddp["counts"].at("launch").is_null());
  for (const Json& all_reduce : {ddp["all_reduce"], ddp["per_rank"][1]["all_reduce"]}) {
    for (const char* key : {"hidden_ms", "exposed_ms", "exposed_wait_ms", "exposed_transfer_ms"}) {
      EXPECT_TRUE(all_reduce.at(key).is_null()) << key;
    }
    EXPECT_EQ(all_reduce["count"], 2);
    EXPECT_EQ(all_reduce["bytes"], 1'000'000);
    EXPECT_DOUBLE_EQ(all_reduce["total_ms"], 3);
    EXPECT_DOUBLE_EQ(all_reduce["wait_ms"], 1);
    EXPECT_DOUBLE_EQ(all_reduce["transfer_ms"], 2);
    EXPECT_DOUBLE_EQ(all_reduce["busbw_gb_per_s"], 0.5);
  }
}

TEST(ReportJson, SaysWhatSawTheDevicesAndNullWhereNobodyKnows) {
  Diagnosis diagnosis = test::sample_diagnosis();
  EXPECT_TRUE(parsed(diagnosis)["strategies"]["ddp"].at("recorder").is_null());
  diagnosis.strategies[2].recorder = kCuptiRecorder;
  EXPECT_EQ(parsed(diagnosis)["strategies"]["ddp"]["recorder"], "cupti");
  EXPECT_TRUE(parsed(diagnosis)["strategies"]["dp"].at("recorder").is_null());
}

TEST(ReportJson, SamplesComeFlatInTimeOrderWithTheirRounds) {
  const Json step = parsed(test::sample_diagnosis())["strategies"]["single"]["step_ms"];
  EXPECT_EQ(step["samples"], (Json{10.0, 11.0, 10.0, 9.0, 10.0, 10.0}));
  EXPECT_EQ(step["round_sizes"], (Json{2, 2, 2}));
  EXPECT_DOUBLE_EQ(step["median"], 10);
}

TEST(ReportJson, BytesThatAreNotUtf8DoNotBreakIt) {
  Diagnosis diagnosis = test::sample_diagnosis();
  diagnosis.machine.devices[0].name = "bad \xff name \"quoted\"";
  EXPECT_NO_THROW(parsed(diagnosis));
}

TEST(ReportJson, TheSameDiagnosisGivesTheSameBytes) {
  EXPECT_EQ(report_json(test::sample_diagnosis()), report_json(test::sample_diagnosis()));
}

TEST(RunJson, NamesTheFilesAndKeepsTheSamples) {
  RunRecord record;
  record.started = "2026-01-31T12:00:00+0000";
  record.command = {"ddpprof", "compare"};
  StrategyInput single;
  single.key = "single";
  single.processes = single.devices = 1;
  single.unrecorded_ms = Rounds{{1, 2}, {3}};
  record.input.strategies.push_back(std::move(single));
  record.files = {{.traces = {"traces/single_rank0.json.gz"}, .logs = {"logs/single_rank0.log"}}};
  record.rounds = 2;
  const Json json = Json::parse(run_json(record));
  EXPECT_EQ(json["command"], (Json{"ddpprof", "compare"}));
  EXPECT_EQ(json["strategies"]["single"]["traces"][0], "traces/single_rank0.json.gz");
  EXPECT_EQ(json["strategies"]["single"]["unrecorded_ms"][1][0], 3.0);
  EXPECT_TRUE(json["strategies"]["single"]["recorded_ms"].is_null());
}

}  // namespace
}  // namespace ddpprof

// `ddpprof compare` end to end, with the real trainers.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/tools/program.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kProgram = DDPPROF_PROGRAM;

class CompareTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("compare_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Outcome compare(std::vector<std::string> flags) {
    // What these tests say must hold on machines with GPUs, too.
    std::vector<std::string> command = {kProgram, "compare", "--device",
                                        "cpu",    "--out",   (folder_ / "run").string()};
    command.insert(command.end(), flags.begin(), flags.end());
    return run_program(command);
  }

  // Trainers of this test that are still there.
  int left_over() const { return processes_with((folder_ / "run").string()); }

  fs::path folder_;
};

// What must hold of every strategy's entry.
void check_strategy(const Json& entry, int steps, int rounds) {
  EXPECT_EQ(entry["residual_ns"], 0);
  double sum = 0;
  for (const Json& row : entry["breakdown"]) sum += row["ms"].get<double>();
  EXPECT_NEAR(sum, entry["window_ms"].get<double>(), 1e-6);
  EXPECT_EQ(entry["step_ms"]["samples"].size(), static_cast<std::size_t>(steps * rounds));
  EXPECT_EQ(entry["step_ms"]["round_sizes"].size(), static_cast<std::size_t>(rounds));
  EXPECT_EQ(entry["step_ms"]["recorded"], false);
  EXPECT_GT(entry["samples_per_s"].get<double>(), 0);
  EXPECT_TRUE(entry["overhead"]["ratio"].is_number());
  EXPECT_EQ(entry["recorder"], "host-clock");
  EXPECT_EQ(entry["dropped_records"], 0);
  EXPECT_LT(entry["loss"]["last"].get<double>(), entry["loss"]["first"].get<double>());
  EXPECT_EQ(entry["counts"]["optimizer"], 1);
  EXPECT_EQ(entry["counts"]["forward"], 1);
  EXPECT_EQ(entry["counts"]["backward"], 1);
  EXPECT_TRUE(entry["counts"]["launch"].is_null());
}

double phase_ms(const Json& entry, const std::string& phase) {
  double sum = 0;
  for (const Json& row : entry["breakdown"]) {
    if (row["phase"] == phase) sum += row["ms"].get<double>();
  }
  return sum;
}

TEST_F(CompareTest, ReportsAllThreeStrategies) {
  const Outcome outcome = compare({"--steps", "20", "--rounds", "4", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["workload"]["name"], "digits-mlp");
  EXPECT_EQ(report["workload"]["parameters_count"], 64 * 256 + 256 + 256 * 256 + 256 + 2560 + 10);
  for (const char* key : {"single", "dp", "ddp"}) check_strategy(report["strategies"][key], 20, 4);
  const Json& single = report["strategies"]["single"];
  const Json& dp = report["strategies"]["dp"];
  const Json& ddp = report["strategies"]["ddp"];
  EXPECT_EQ(dp["counts"]["replicate"], 1);
  EXPECT_EQ(dp["counts"]["gather"], 1);
  EXPECT_EQ(single["counts"]["replicate"], 0);
  EXPECT_GT(phase_ms(dp, "replicate"), 0);
  EXPECT_GT(phase_ms(dp, "grad_reduce"), 0);
  EXPECT_EQ(phase_ms(single, "all_reduce"), 0);
  EXPECT_TRUE(single["all_reduce"].is_null());
  EXPECT_TRUE(dp["all_reduce"].is_null());
  EXPECT_EQ(ddp["all_reduce"]["bytes"], report["workload"]["gradient_bytes"]);
  EXPECT_GE(ddp["all_reduce"]["count"], 1);
  EXPECT_EQ(ddp["per_rank"].size(), 2u);
  EXPECT_GT(report["comparison"]["ddp_over_single"]["ratio"].get<double>(), 0);
  EXPECT_TRUE(report["findings"].empty());
  EXPECT_NE(report["verdict"].get<std::string>().find("DDP"), std::string::npos);
  // Every strategy saw the same data from the same start.
  EXPECT_NEAR(dp["loss"]["first"], single["loss"]["first"].get<double>(), 1e-5);
  EXPECT_NEAR(ddp["loss"]["first"], single["loss"]["first"].get<double>(), 1e-5);
  EXPECT_NEAR(ddp["loss"]["last"], single["loss"]["last"].get<double>(), 1e-2);
}

TEST_F(CompareTest, LeavesARunThatReadsBack) {
  const Outcome outcome = compare({"--steps", "5", "--rounds", "2", "--workers", "3", "--batch",
                                   "48", "--strategies", "single,ddp"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("where a recorded step goes"), std::string::npos) << outcome.out;
  const fs::path run = folder_ / "run";
  const Json manifest = Json::parse(read_file(run / "run.json"));
  EXPECT_EQ(manifest["strategies"]["ddp"]["traces"].size(), 3u);
  for (const auto& [key, strategy] : manifest["strategies"].items()) {
    for (const std::string name : strategy["traces"]) {
      const Trace trace = read_native(read_file(run / name), name);
      EXPECT_EQ(trace.steps.size(), 10u);
      EXPECT_EQ(trace.info.strategy, key);
    }
  }
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("run: ")) continue;
    EXPECT_LE(line.size(), 80u) << line;
  }
  // The same folder again: refused, then overwritten.
  EXPECT_EQ(compare({"--steps", "5"}).exit_code, 1);
  EXPECT_EQ(
      compare({"--steps", "2", "--rounds", "1", "--force", "--strategies", "single"}).exit_code, 0);
}

TEST_F(CompareTest, RunsBertWithEverySizeSet) {
  const Outcome outcome =
      compare({"--workload", "bert-base", "--layers", "1",       "--width", "64",      "--seq",
               "8",          "--vocab",   "100",      "--batch", "8",       "--steps", "3",
               "--rounds",   "2",         "--warmup", "2",       "--json",  "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("fp32"), std::string::npos) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report["workload"]["sequence_length"], 8);
  EXPECT_EQ(report["workload"]["dtype"], "fp32");
  for (const char* key : {"single", "dp", "ddp"}) {
    EXPECT_EQ(report["strategies"][key]["residual_ns"], 0);
  }
}

TEST_F(CompareTest, IsolateRunsOneStrategyAfterTheOther) {
  const Outcome outcome = compare({"--steps", "5", "--rounds", "2", "--isolate", "--json", "-"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* key : {"single", "dp", "ddp"}) {
    check_strategy(Json::parse(outcome.out)["strategies"][key], 5, 2);
  }
}

TEST_F(CompareTest, ATrainerThatDiesInWarmUpIsNamedAndNobodyIsLeft) {
  const Outcome outcome = compare({"--fault", "die-in-warmup:1"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("ddp rank 1: killed by signal 9"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("warm-up"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(left_over(), 0);
  EXPECT_FALSE(fs::exists(folder_ / "run" / "report.json"));
}

TEST_F(CompareTest, ATrainerThatHangsInWarmUpIsEnded) {
  const Outcome outcome = compare({"--fault", "hang-in-warmup:0", "--timeout", "4"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("no sign of life for 4 s"), std::string::npos) << outcome.err;
  EXPECT_LT(outcome.seconds, 40);
  EXPECT_EQ(left_over(), 0);
}

TEST_F(CompareTest, AnInterruptEndsEverything) {
  const std::string run = (folder_ / "run").string();
  // SIGINT to ddpprof alone, as soon as all four trainers are there.
  const Outcome outcome = run_program(
      {"/bin/bash", "-c",
       "\"$0\" compare --device cpu --rounds 1000 --out \"$1\" & child=$!; "
       "until [ \"$(pgrep -fc -- \"--trace $1\")\" -ge 4 ]; do sleep 0.1; done; sleep 0.5; "
       "kill -TERM $child; wait $child",
       kProgram, run});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
  EXPECT_LT(outcome.seconds, 60);
  EXPECT_EQ(left_over(), 0);
}

TEST_F(CompareTest, WrongUsageThatOnlyTheTrainerKnowsExitsWithTwo) {
  const Outcome outcome = compare({"--workload", "bert-base", "--layers", "1", "--width", "200"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("width"), std::string::npos) << outcome.err;
  EXPECT_EQ(left_over(), 0);
}

}  // namespace
}  // namespace ddpprof::test

// `ddpprof compare` on GPUs, from the command line to the report.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/gpu/gpus.h"
#include "tests/tools/program.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ddpprof::test {
namespace {

Outcome compare(std::vector<std::string> arguments,
                const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(),
                   {program_path("DDPPROF_PROGRAM", DDPPROF_PROGRAM), "compare"});
  return run_program(arguments, environment);
}

std::vector<std::string> short_run(const std::filesystem::path& folder) {
  return {"--gpus",   std::to_string(ranks_count()),
          "--layers", "2",
          "--batch",  "16",
          "--rounds", "2",
          "--steps",  "4",
          "--json",   "-",
          "--warmup", "4",
          "--out",    folder.string()};
}

// By CUPTI every row has an activity and launches are counted; by events neither is known.
void account_for_every_nanosecond(const std::string& recorder) {
  const bool sees_work = recorder == "cupti";
  const TemporaryFolder folder;
  std::vector<std::string> arguments = short_run(folder.path() / "run");
  arguments.insert(arguments.end(), {"--recorder", recorder});
  const Outcome outcome = compare(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["workload"]["name"], "bert-base");
  EXPECT_EQ(report["workload"]["dtype"], "bf16");
  EXPECT_FALSE(report["machine"]["driver"].is_null());
  EXPECT_FALSE(report["machine"]["nccl"].is_null());
  for (const char* key : {"single", "dp", "ddp"}) {
    SCOPED_TRACE(key);
    const auto& strategy = report["strategies"][key];
    EXPECT_EQ(strategy["residual_ns"], 0);
    double sum_ms = 0;
    for (const auto& row : strategy["breakdown"]) {
      EXPECT_EQ(row["activity"].is_null(), !sees_work) << row;
      EXPECT_EQ(row["kind"].is_null(), row["activity"] != "stall") << row;
      sum_ms += row["ms"].get<double>();
    }
    EXPECT_NEAR(sum_ms, strategy["window_ms"].get<double>(), 1e-6);
    // The recorded window and the step that was not recorded are the same work.
    EXPECT_LT(strategy["window_ms"].get<double>(), 3 * strategy["step_ms"]["median"].get<double>());
    EXPECT_GT(strategy["window_ms"].get<double>(), strategy["step_ms"]["median"].get<double>() / 3);
    EXPECT_GT(strategy["peak_memory_bytes"][0].get<double>(), 1e6);
    EXPECT_EQ(strategy["counts"]["launch"].is_null(), !sees_work);
    EXPECT_LT(strategy["loss"]["last"].get<double>(), strategy["loss"]["first"].get<double>());
  }
  EXPECT_EQ(report["strategies"]["ddp"]["all_reduce"]["bytes"],
            report["workload"]["gradient_bytes"]);
}

TEST(GpuCompare, AccountsForEveryNanosecondByCupti) { account_for_every_nanosecond("cupti"); }

TEST(GpuCompare, AccountsForEveryNanosecondByEvents) { account_for_every_nanosecond("events"); }

TEST(GpuCompare, NamesTheVariableThatHidesGpus) {
  const TemporaryFolder folder;
  std::vector<std::string> arguments = short_run(folder.path() / "run");
  arguments[1] = std::to_string(gpus_count() + 1);
  std::string visible = "CUDA_VISIBLE_DEVICES=0";
  const Outcome outcome = compare(arguments, {visible});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("--gpus " + arguments[1]), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("CUDA_VISIBLE_DEVICES"), std::string::npos) << outcome.err;
}

// The launcher ends the rank that waits in NCCL: its own watchdog takes a minute.
TEST(GpuCompare, EndsSoonWhenARankDies) {
  if (ranks_count() < 2) GTEST_SKIP() << "takes two GPUs";
  const TemporaryFolder folder;
  std::vector<std::string> arguments = short_run(folder.path() / "run");
  arguments.insert(arguments.end(), {"--strategies", "ddp", "--fault", "die-in-warmup:1"});
  const Outcome outcome = compare(arguments);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("ddp rank 1: "), std::string::npos) << outcome.err;
  EXPECT_LT(outcome.seconds, 40);
  EXPECT_EQ(processes_with((folder.path() / "run").string()), 0);
}

TEST(GpuCompare, NamesRanksThatHang) {
  if (ranks_count() < 2) GTEST_SKIP() << "takes two GPUs";
  const TemporaryFolder folder;
  std::vector<std::string> arguments = short_run(folder.path() / "run");
  arguments.insert(arguments.end(),
                   {"--strategies", "ddp", "--fault", "hang-in-warmup:1", "--timeout", "8"});
  const Outcome outcome = compare(arguments);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("no sign of life"), std::string::npos) << outcome.err;
  EXPECT_LT(outcome.seconds, 60);
}

// As torch.nn.DataParallel: nothing to scatter to, nothing to copy.
TEST(GpuTrainer, DpOnOneDeviceCallsTheModelItself) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "dp.json.gz";
  TrainerProcess process(
      {"--strategy", "dp", "--workers", "1", "--steps", "8", "--trace", path.string()});
  ASSERT_EQ(process.wait(), 0) << process.error();
  const Trace trace = read_native(read_file(path), path.string());
  EXPECT_EQ(trace.info.counts.at("replicate"), 0);
  EXPECT_EQ(trace.info.counts.at("gather"), 0);
  EXPECT_GT(trace.info.counts.at("forward"), 0);
}

TEST(GpuTrainer, RefusesAGpuThatIsNotThere) {
  TrainerProcess process({"--devices", "99"});
  EXPECT_EQ(process.wait(), 1);
  EXPECT_NE(process.error().find("GPU 99: is not there"), std::string::npos) << process.error();
}

TEST(GpuTrainer, LearnsTheDigits) {
  TrainerProcess process({"--workload", "digits-mlp"});
  ASSERT_EQ(process.wait(), 0) << process.error();
  const std::string text = process.output();
  const auto at = text.find("test accuracy ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_GT(std::stod(text.substr(at + 14)), 96) << text;
}

}  // namespace
}  // namespace ddpprof::test

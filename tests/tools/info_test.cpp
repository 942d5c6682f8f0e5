#include "profiler/trace/error.h"
#include "tests/formats/small_trace.h"
#include "tools/info/describe.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(DescribeTrace, TellsWhatIsThere) {
  EXPECT_EQ(
      describe_trace(test::small_trace()),
      "ddp, rank 1 of 2: digits-mlp (mlp 64-256-256-10), fp32, global batch 64\n"
      "  recorded  2 steps, 10 to 11, in 1 visit, 4 ms of the host's time\n"
      "  devices   GPU of the test, 74.5 GiB, at most <0.001 GiB used\n"
      "  recorder  \u2014\n"
      "  records   2 threads, 2 scopes, 2 calls, 5 pieces of device work, 2 collectives (1 of "
      "gradients)\n"
      "  dropped   3\n"
      "  clock     host node \"a\", boot 0d3a; in 9 ms wall and monotonic clock parted by 0 us\n"
      "  versions  torch 2.11.0\n"
      "  issue     lost-records: the device's buffer was full (3)\n");
}

TEST(DescribeTrace, OfTimedPhasesTellsTheUncertaintyOfTheirTimes) {
  Trace trace = test::phases_trace();
  trace.info.device_clock_uncertainty_ns = 3964;
  const std::string text = describe_trace(trace);
  EXPECT_NE(text.find("  devices   cuda:1 GPU of the test, 74.5 GiB"), std::string::npos) << text;
  EXPECT_NE(text.find("  records   1 thread, 5 timed phases, 1 collective (1 of gradients)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("; devices' times 3.96 us uncertain\n"), std::string::npos) << text;
}

TEST(DescribeTrace, TellsWhatSawTheDevicesWhatWasLostAndWhatThatCost) {
  Trace trace = test::small_trace();
  trace.info.recorder = kCuptiRecorder;
  trace.steps[1].has_losses = true;
  trace.info.collector_overheads_ns = {{"buffers", 1'230'000}, {"flush", 45'600'000}};
  std::string text = describe_trace(trace);
  EXPECT_NE(text.find("\n  recorder  cupti\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  dropped   3, 1 step with losses\n"
                      "  collector buffers 1.23 ms, flush 45.6 ms\n"),
            std::string::npos)
      << text;
  trace.info.dropped_records = 0;
  trace.steps[0].has_losses = true;
  text = describe_trace(trace);
  EXPECT_NE(text.find("\n  dropped   0, 2 steps with losses\n"), std::string::npos) << text;
}

TEST(DescribeTrace, OfAnEmptyOneHasDashes) {
  EXPECT_EQ(describe_trace({}),
            "\u2014, rank 0 of 1: \u2014 (\u2014), \u2014, global batch \u2014\n"
            "  recorded  no step\n"
            "  recorder  \u2014\n"
            "  records   \u2014\n"
            "  dropped   none\n"
            "  clock     host \u2014, boot \u2014\n"
            "  versions  \u2014\n");
}

constexpr const char* kRun = R"({"schema": 1, "tool": {"version": "0.1.0"},
  "started": "2026-01-31T12:34:56+0000", "command": ["ddpprof", "compare", "--gpus", "2"],
  "strategies": {"single": {"traces": ["traces/single_rank0.json.gz"]},
                 "ddp": {"traces": ["traces/ddp_rank0.json.gz", "traces/ddp_rank1.json.gz"]}}})";
constexpr const char* kReport = R"({"strategies": {
  "single": {"recorder": "cupti", "overhead": {"ratio": 0.012}},
  "ddp": {"recorder": null, "overhead": null}}})";

TEST(RunFacts, TellHowARunWasMadeAndWhatRecordingCost) {
  const RunFacts facts = read_run_facts(kRun, "run.json", kReport, "report.json");
  ASSERT_EQ(facts.strategies.size(), 2u);
  EXPECT_EQ(facts.strategies[1].traces[1], "traces/ddp_rank1.json.gz");
  EXPECT_EQ(describe_run(facts),
            "run of ddpprof 0.1.0, 2026-01-31T12:34:56+0000\n"
            "  ddpprof compare --gpus 2\n"
            "  single    1 trace, recorder cupti, recording cost 1 %\n"
            "  ddp       2 traces, recorder \u2014, recording cost \u2014\n");
}

TEST(RunFacts, OfAnOlderReportHaveNoRecorder) {
  const RunFacts facts =
      read_run_facts(kRun, "run.json",
                     R"({"strategies": {"single": {"overhead": null}, "ddp": {"overhead": null}}})",
                     "report.json");
  EXPECT_FALSE(facts.strategies[0].recorder);
}

TEST(RunFacts, WithoutAReportHaveNoCost) {
  const RunFacts facts = read_run_facts(kRun, "run.json", "", "report.json");
  EXPECT_FALSE(facts.strategies[0].overhead);
  EXPECT_FALSE(facts.strategies[0].recorder);
}

TEST(RunFacts, RefuseWhatIsNoRunAndNameIt) {
  for (const auto& [run, report, name] : {std::tuple{"{}", kReport, "run.json"},
                                          {"no JSON", kReport, "run.json"},
                                          {kRun, "{}", "report.json"}}) {
    try {
      read_run_facts(run, "run.json", report, "report.json");
      ADD_FAILURE() << run << report;
    } catch (const Error& error) {
      EXPECT_NE(error.subject.find(name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace ddpprof

// A captured step computes what the same step computes launch by launch.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/gpu/gpus.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

std::string metrics_of(Arguments arguments) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  arguments.insert(arguments.end(), {"--steps", "40", "--metrics", path.string()});
  TrainerProcess process(arguments);
  EXPECT_EQ(process.wait(), 0) << process.error();
  return read_file(path);
}

TEST(CudaGraph, ChangesNoLossByABit) {
  for (const Arguments& arguments : std::vector<Arguments>{
           {},
           {"--precision", "fp16", "--loss-scale-growth", "7"},
           {"--micro-steps", "4", "--clip-norm", "0.5", "--schedule", "cosine", "--lr-warmup", "5"},
           {"--optimizer", "fused-sgd", "--lr", "0.05"}}) {
    const std::string eager = metrics_of(arguments);
    EXPECT_GT(std::ranges::count(eager, '\n'), 30);
    Arguments graphed = arguments;
    graphed.emplace_back("--cuda-graph");
    EXPECT_EQ(metrics_of(graphed), eager);
  }
}

TEST(CudaGraph, IsRecordedWithThePhasesInWhichItWasCaptured) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "t.json.gz").string();
  TrainerProcess process({"--steps", "20", "--cuda-graph", "--trace", path, "--recorder", "cupti"});
  ASSERT_EQ(process.wait(), 0) << process.error();
  const Trace trace = read_native(read_file(path), path);
  std::set<Phase> phases;
  for (const Work& work : trace.work) {
    if (work.captured_phase) phases.insert(*work.captured_phase);
  }
  for (const Phase phase : {Phase::forward, Phase::loss, Phase::backward, Phase::optimizer}) {
    EXPECT_TRUE(phases.contains(phase)) << to_string(phase);
  }
  EXPECT_EQ(trace.info.counts.at("backward"), static_cast<std::int64_t>(trace.steps.size()));
}

}  // namespace
}  // namespace ddpprof::test

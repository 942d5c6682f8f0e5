// Whoever fetches the batches, and wherever they come from, the training is the same.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/trainers/gradients.h"
#include "tests/trainers/safetensors_file.h"
#include "tests/trainers/trainer_process.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

// The largest differences are exactly 0: the same bits, but for the sign of a 0.
void expect_same(const Dump& reference, const Dump& dump) {
  EXPECT_EQ(dump.difference(reference, "grad"), 0);
  EXPECT_EQ(dump.difference(reference, "param"), 0);
}

class LoaderThreads : public testing::TestWithParam<const char*> {};

TEST_P(LoaderThreads, ChangeNoBitOfTheTraining) {
  const std::string strategy = GetParam();
  const int devices = strategy == "single" ? 1 : 2;
  for (const char* workload : {"digits-mlp", "bert-base"}) {
    const EqualityCase which = make_case(workload, "fp32");
    for (const char* micro_steps : {"1", "3"}) {
      SCOPED_TRACE(std::string(workload) + " in " + micro_steps);
      const Arguments plain = {"--micro-steps", micro_steps};
      const Dump reference(strategy, devices, which, plain);
      for (const char* threads : {"1", "3"}) {
        const Arguments more = {"--micro-steps", micro_steps,  "--loader-threads",
                                threads,         "--prefetch", "1"};
        expect_same(reference, Dump(strategy, devices, which, more));
      }
    }
  }
}

TEST_P(LoaderThreads, AreNoticedWhenTheyFetchOtherSamples) {
  const std::string strategy = GetParam();
  const int devices = strategy == "single" ? 1 : 2;
  const EqualityCase which = make_case("digits-mlp", "fp32");
  const Dump reference(strategy, devices, which);
  const Dump other(strategy, devices, which, {"--data", "synthetic", "--loader-threads", "1"});
  EXPECT_GT(other.difference(reference, "grad"), 0.1);
}

INSTANTIATE_TEST_SUITE_P(Strategies, LoaderThreads, testing::Values("single", "dp", "ddp"),
                         [](const auto& row) { return row.param; });

constexpr int kRecordedSteps = 20;

// CPU time and kind of the scopes `data`, one a step.
struct DataScopes {
  std::vector<std::int64_t> cpu_ns;
  std::vector<bool> computes;
};

DataScopes record_data(Arguments more) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.json";
  more.insert(more.end(), {"--batch", "16", "--threads", "1", "--warmup", "2", "--steps",
                           std::to_string(2 + kRecordedSteps), "--trace", path.string()});
  TrainerProcess process(more);
  EXPECT_EQ(process.wait(), 0) << process.error();
  const Trace trace = read_native(read_file(path), path.string());
  EXPECT_EQ(trace.info.dropped_records, 0);
  EXPECT_EQ(trace.threads.size(), 1U) << "loader threads are no device's";
  DataScopes scopes;
  for (const Scope& scope : trace.scopes) {
    if (scope.phase == Phase::data) {
      scopes.cpu_ns.push_back(scope.cpu_ns.value_or(-1));
      scopes.computes.push_back(scope.computes);
    }
  }
  EXPECT_EQ(scopes.cpu_ns.size(), static_cast<std::size_t>(kRecordedSteps));
  return scopes;
}

std::int64_t median(std::vector<std::int64_t> values) {
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

TEST(DataCost, IsInTheDataPhaseUntilThreadsTakeItOver) {
  constexpr std::int64_t kAsked_ns = 16 * 100'000;
  const DataScopes none = record_data({});
  const DataScopes own = record_data({"--data-cost-us", "100"});
  const DataScopes theirs = record_data({"--data-cost-us", "100", "--loader-threads", "2"});
  EXPECT_TRUE(std::ranges::all_of(own.computes, std::identity{}));
  EXPECT_TRUE(std::ranges::none_of(theirs.computes, std::identity{})) << "it waits";
  EXPECT_GE(std::ranges::min(own.cpu_ns), kAsked_ns);
  EXPECT_LE(median(own.cpu_ns), median(none.cpu_ns) + kAsked_ns * 11 / 10);
  EXPECT_LE(median(theirs.cpu_ns), kAsked_ns / 4);
  EXPECT_GE(std::ranges::min(theirs.cpu_ns), 0);
}

TEST(DataCost, IsSaidAndChangesNothing) {
  const EqualityCase which = make_case("digits-mlp", "fp32");
  expect_same(Dump("single", 1, which), Dump("single", 1, which, {"--data-cost-us", "20"}));
  TrainerProcess process({"--steps", "1", "--data-cost-us", "20"});
  EXPECT_EQ(process.wait(), 0);
  EXPECT_NE(process.error().find("costs 20 us of CPU time on purpose"), std::string::npos);
}

// A data set of 48 digits; `label` is that of sample 5.
std::string digits(std::int64_t label) {
  constexpr std::size_t kCount = 48;
  std::vector<float> images(kCount * 64);
  std::vector<std::int64_t> labels(kCount);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i * 7 % 17) / 16;
  for (std::size_t i = 0; i < kCount; ++i) labels[i] = static_cast<std::int64_t>(i % 10);
  labels[5] = label;
  return safetensors_file({{"images", "F32", "[48, 64]", bytes_of(images)},
                           {"labels", "I64", "[48]", bytes_of(labels)}});
}

class FromAFile : public testing::TestWithParam<const char*> {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "digits.safetensors";
  Arguments from_file_ = {"--data", path_.string(), "--loader-threads", GetParam()};
};

TEST_P(FromAFile, StrategiesTrainAlike) {
  write_file(path_, digits(5));
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Dump single("single", 1, which, {"--data", path_.string()});
  for (const char* strategy : {"single", "dp", "ddp"}) {
    expect_equal(single, strategy, std::string(strategy) == "single" ? 1 : 2, which, from_file_);
  }
}

// The same words and the same end, whoever fetched it.
TEST_P(FromAFile, AWrongSampleEndsTheTrainingWithItsNumber) {
  write_file(path_, digits(12));
  Arguments arguments = from_file_;
  arguments.insert(arguments.end(), {"--batch", "16", "--steps", "4"});
  TrainerProcess process(arguments);
  EXPECT_EQ(process.wait(), 1);
  EXPECT_EQ(process.error(), "ddpprof-train: " + path_.string() +
                                 ": sample 5 has 12 in labels\n"
                                 "  hint: values are from 0 to 9\n");
}

INSTANTIATE_TEST_SUITE_P(Threads, FromAFile, testing::Values("0", "2"));

TEST(DataFiles, AreRefusedWithWhatTheWorkloadWants) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "digits.safetensors";
  write_file(path, digits(5));
  TrainerProcess bert({"--workload", "bert-base", "--data", path.string()});
  EXPECT_EQ(bert.wait(), 1);
  EXPECT_NE(bert.error().find("bert-base wants input_ids: I64 (samples, 128)"), std::string::npos)
      << bert.error();
  TrainerProcess large({"--data", path.string(), "--batch", "64"});
  EXPECT_EQ(large.wait(), 2);
  EXPECT_NE(large.error().find("only 48 samples"), std::string::npos) << large.error();
}

TEST(SyntheticDigits, CanBeLearned) {
  TrainerProcess process({"--data", "synthetic", "--steps", "200", "--threads", "1"});
  EXPECT_EQ(process.wait(), 0) << process.error();
  const std::string output = process.output();
  const auto loss = output.find("loss ");
  ASSERT_NE(loss, std::string::npos) << output;
  EXPECT_LT(std::stod(output.substr(loss + 5)), 0.05);
  EXPECT_EQ(output.find("accuracy"), std::string::npos) << "of other digits than it was trained on";
}

}  // namespace
}  // namespace ddpprof::test

// What happens between gradients and parameters, seen from outside: gradients, parameters, metrics
// and traces of real trainers.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/trainers/gradients.h"

#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// All that happens in a real training at once. The clip is far below the gradients' norm.
const Arguments kAll = {"--clip-norm", "0.05", "--schedule", "cosine", "--lr-warmup", "3"};

class UpdateOf : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(UpdateOf, AllStrategiesIsTheSameOnOneToFourDevices) {
  const EqualityCase which = make_case(GetParam().first, GetParam().second);
  const Dump single("single", 1, which, kAll);
  const Arguments accumulating = joined(kAll, {"--micro-steps", "2"});
  expect_equal(single, "single", 1, which, accumulating);
  for (const int devices : {1, 2, 3, 4}) {
    expect_equal(single, "dp", devices, which, accumulating);
    expect_equal(single, "ddp", devices, which, accumulating);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, UpdateOf,
                         testing::Values(std::pair("digits-mlp", "fp64"),
                                         std::pair("bert-base", "fp64"),
                                         std::pair("bert-base", "fp32")),
                         [](const auto& row) {
                           std::string name = std::string(row.param.first) + row.param.second;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Optimizers, FusedAndForeachUpdateAlike) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Arguments sgd = {"--lr", "0.05", "--weight-decay", "0.1"};
  const Dump fused("single", 1, which, joined(sgd, {"--optimizer", "fused-sgd"}));
  expect_equal(fused, "single", 1, which, joined(sgd, {"--optimizer", "foreach-sgd"}));
  EXPECT_GT(fused.difference(Dump("single", 1, which,
                                  joined(sgd, {"--optimizer", "fused-sgd", "--momentum", "0"})),
                             "param"),
            1e-4)
      << "momentum does something";
}

// Without momentum and decay a step of SGD is as long as the clipped gradient times the rate.
TEST(Clipping, MakesEachStepAsLongAsItsBound) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Arguments sgd = {"--optimizer", "fused-sgd", "--momentum",     "0",
                         "--lr",        "0.5",       "--weight-decay", "0"};
  const Dump clipped("single", 1, which, joined(sgd, {"--clip-norm", "0.01"}));
  for (int step = 1; step < 10; ++step) {
    EXPECT_NEAR(clipped.step_length(step), 0.5 * 0.01, 0.5 * 0.01 * 1e-3) << step;
  }
  const Dump free("single", 1, which, sgd);
  expect_equal(free, "single", 1, which, joined(sgd, {"--clip-norm", "1000"}));
}

TEST(LossScaling, OfAPowerOfTwoChangesNothing) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Dump plain("single", 1, which);
  const Arguments scaled = {"--loss-scale", "1024", "--micro-steps", "2"};
  expect_equal(plain, "single", 1, which, scaled);
  expect_equal(plain, "dp", 2, which, scaled);
  expect_equal(plain, "ddp", 2, which, scaled);
}

// The second step's gradient is infinite on one rank alone.
TEST(LossScaling, SkipsAStepThatOverflowedOnAllRanksAlike) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  for (const char* optimizer : {"fused-adamw", "foreach-adamw", "fused-sgd", "foreach-sgd"}) {
    for (const auto& [strategy, devices] : {std::pair("single", 1), {"dp", 2}, {"ddp", 3}}) {
      SCOPED_TRACE(std::string(optimizer) + ", " + strategy);
      const Dump dump(
          strategy, devices, which,
          {"--optimizer", optimizer, "--loss-scale", "dynamic", "--fault", "infinite-gradient"});
      EXPECT_TRUE(dump.ranks_have_equal_parameters());
      EXPECT_EQ(dump.step_length(1), 0);
      for (const int step : {2, 3, 9}) {
        EXPECT_GT(dump.step_length(step), 0) << step;
      }
    }
  }
}

TEST(LossScaling, WithoutItAnInfiniteGradientSpoilsAll) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Dump dump("single", 1, which, {"--fault", "infinite-gradient"});
  EXPECT_TRUE(std::isnan(dump.step_length(1)));
}

// Values of `key` in a metrics file, a step each; NaN where one has none.
std::vector<double> values_of(const std::filesystem::path& metrics, const std::string& key) {
  std::istringstream lines(read_file(metrics));
  std::vector<double> values;
  const std::string mark = "\"" + key + "\": ";
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"loss\"") == std::string::npos) continue;  // a look at the test samples
    const auto at = line.find(mark);
    values.push_back(
        at == std::string::npos ? NAN : std::strtod(line.c_str() + at + mark.size(), nullptr));
  }
  return values;
}

TEST(LossScaling, HalvesAtAnOverflowAndRecovers) {
  const TemporaryFolder folder;
  const auto metrics = folder.path() / "m.jsonl";
  TrainerProcess process({"--steps", "9", "--loss-scale", "dynamic", "--loss-scale-growth", "3",
                          "--fault", "infinite-gradient", "--metrics", metrics.string()});
  ASSERT_EQ(process.wait(), 0) << process.error();
  EXPECT_NE(process.output().find("1 step skipped by loss scaling"), std::string::npos)
      << process.output();
  EXPECT_EQ(values_of(metrics, "loss_scale"),
            (std::vector<double>{65536, 65536, 32768, 32768, 32768, 65536, 65536, 65536, 131072}));
}

TEST(Schedule, OfARunIsInItsMetrics) {
  const TemporaryFolder folder;
  const auto metrics = folder.path() / "m.jsonl";
  TrainerProcess process({"--steps", "6", "--lr", "1", "--schedule", "linear", "--lr-warmup", "2",
                          "--metrics", metrics.string()});
  ASSERT_EQ(process.wait(), 0) << process.error();
  EXPECT_EQ(values_of(metrics, "learning_rate"), (std::vector<double>{0.5, 1, 1, 0.75, 0.5, 0.25}));
}

// What rank 0 all-reduced of gradients in the last step, which is recorded.
struct Reduced {
  std::int64_t bytes = 0, gradient_bytes = 0;
  std::optional<ElementType> type;
};
Reduced reduced_in_a_step(const Arguments& more) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "{rank}.json.gz").string();
  EXPECT_EQ(run_ranks(2, joined({"--batch", "24", "--steps", "6", "--warmup", "5", "--trace", path},
                                more)),
            (std::vector<int>{0, 0}));
  const std::string file = (folder.path() / "0.json.gz").string();
  const Trace trace = read_native(read_file(file), file);
  EXPECT_EQ(trace.steps.size(), 1U);
  Reduced reduced{.gradient_bytes = trace.info.workload.gradient_bytes.value_or(0), .type = {}};
  for (const Collective& collective : trace.collectives) {
    if (collective.gradient) {
      reduced.bytes += collective.bytes;
      reduced.type = collective.element_type;
    }
  }
  return reduced;
}

TEST(NoSync, ReducesEachGradientOnceAStepAndWithoutItInEveryMicroStep) {
  const Reduced once = reduced_in_a_step({"--micro-steps", "4"});
  EXPECT_EQ(once.bytes, once.gradient_bytes);
  const Reduced always = reduced_in_a_step({"--micro-steps", "4", "--no-no-sync"});
  EXPECT_EQ(always.bytes, 4 * always.gradient_bytes);
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Dump single("single", 1, which);
  expect_equal(single, "ddp", 2, which, {"--micro-steps", "3", "--no-no-sync"});
}

TEST(CommHook, HalvesWhatTravelsAndKeepsItsLeadingDigits) {
  const EqualityCase which = make_case("digits-mlp", "fp32");
  const Dump single("single", 1, which);
  for (const auto& [hook, type, digits] :
       {std::tuple("fp16", ElementType::float16, 1e-3), {"bf16", ElementType::bfloat16, 1e-2}}) {
    const Reduced reduced = reduced_in_a_step({"--comm-hook", hook});
    EXPECT_EQ(2 * reduced.bytes, reduced.gradient_bytes) << hook;
    EXPECT_EQ(reduced.type, type);
    const Dump compressed("ddp", 2, which, {"--comm-hook", hook});
    const double difference = compressed.difference(single, "grad");
    EXPECT_LT(difference, 20 * digits) << hook << ": ten steps drift apart";
    EXPECT_GT(difference, digits / 100) << hook << " rounds";
    EXPECT_TRUE(compressed.ranks_have_equal_parameters());
  }
}

}  // namespace
}  // namespace ddpprof::test

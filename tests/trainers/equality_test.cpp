// single, dp and ddp compute the same gradients, step by step.
#include "tests/trainers/gradients.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

class Equality : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  EqualityCase which_ = make_case(GetParam().first, GetParam().second);
};

TEST_P(Equality, StrategiesComputeTheSameGradientsAtEveryStep) {
  const Dump single("single", 1, which_);
  for (const int devices : {2, 3}) {
    expect_equal(single, "dp", devices, which_);
    expect_equal(single, "dp", devices, which_, {"--dp-threads", "pool"});
    expect_equal(single, "ddp", devices, which_);
  }
}

TEST_P(Equality, GradientAccumulationChangesNothing) {
  const Dump single("single", 1, which_);
  const Arguments micro_steps = {"--micro-steps", "2"};
  expect_equal(single, "single", 1, which_, micro_steps);
  expect_equal(single, "dp", 2, which_, micro_steps);
  expect_equal(single, "ddp", 2, which_, micro_steps);
}

TEST_P(Equality, NoticesGradientsThatAreSummedInsteadOfAveraged) {
  const Dump single("single", 1, which_);
  const Arguments fault = {"--fault", "sum-gradients"};
  EXPECT_GT(Dump("dp", 2, which_, fault).difference(single, "grad"), 0.5);
  EXPECT_GT(Dump("ddp", 2, which_, fault).difference(single, "grad"), 0.5);
}

INSTANTIATE_TEST_SUITE_P(Workloads, Equality,
                         testing::Values(std::pair("digits-mlp", "fp32"),
                                         std::pair("digits-mlp", "fp64"),
                                         std::pair("bert-base", "fp32"),
                                         std::pair("bert-base", "fp64")),
                         [](const auto& row) {
                           std::string name = std::string(row.param.first) + row.param.second;
                           std::erase(name, '-');
                           return name;
                         });

const std::vector<Arguments>& reducer_options() {
  static const std::vector<Arguments> kOptions = {
      {"--bucket-cap-mb", "0.05"},   {"--bucket-cap-mb", "0.1", "--first-bucket-mb", "0.02"},
      {"--gradient-as-bucket-view"}, {"--static-graph"},
      {"--find-unused-parameters"},  {"--no-broadcast-buffers"},
  };
  return kOptions;
}

TEST(ReducerOptions, ChangeNoGradient) {
  for (const char* precision : {"fp32", "fp64"}) {
    const EqualityCase which = make_case("bert-base", precision);
    const Dump single("single", 1, which);
    for (const Arguments& options : reducer_options()) {
      expect_equal(single, "ddp", 2, which, options);
    }
  }
}

TEST(ReducerOptions, ChangeNoGradientUnderAccumulation) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Dump single("single", 1, which);
  for (const Arguments& options : reducer_options()) {
    Arguments more = options;
    more.insert(more.end(), {"--micro-steps", "3"});
    expect_equal(single, "ddp", 2, which, more);
  }
}

TEST(Optimizer, ForeachAndFusedUpdateAlike) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Dump fused("single", 1, which);
  expect_equal(fused, "single", 1, which, {"--optimizer", "foreach-adamw"});
}

}  // namespace
}  // namespace ddpprof::test

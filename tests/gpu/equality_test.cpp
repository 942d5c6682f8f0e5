// single, dp and ddp compute the same gradients on GPUs, step by step. PyTorch multiplies matrices
// of fp32 without TF32 unless it is told to.
#include "tests/gpu/gpus.h"
#include "tests/trainers/gradients.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

class GpuEquality : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  EqualityCase which_ = make_case(GetParam().first, GetParam().second);
};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_P(GpuEquality, StrategiesComputeTheSameGradientsAtEveryStep) {
  const Dump single("single", 1, which_);
  expect_equal(single, "dp", 2, which_, two_replicas());
  expect_equal(single, "dp", 2, which_, with(two_replicas(), {"--dp-threads", "pool"}));
  expect_equal(single, "ddp", ranks_count(), which_);
}

TEST_P(GpuEquality, GradientAccumulationChangesNothing) {
  const Dump single("single", 1, which_);
  const Arguments micro_steps = {"--micro-steps", "2"};
  expect_equal(single, "single", 1, which_, micro_steps);
  expect_equal(single, "dp", 2, which_, with(two_replicas(), micro_steps));
  expect_equal(single, "ddp", ranks_count(), which_, micro_steps);
}

TEST_P(GpuEquality, NoticesGradientsThatAreSummedInsteadOfAveraged) {
  const Dump single("single", 1, which_);
  const Arguments fault = {"--fault", "sum-gradients"};
  EXPECT_GT(Dump("dp", 2, which_, with(two_replicas(), fault)).difference(single, "grad"), 0.5);
  if (ranks_count() > 1) {  // the sum over one rank is its mean
    EXPECT_GT(Dump("ddp", 2, which_, fault).difference(single, "grad"), 0.5);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, GpuEquality,
                         testing::Values(std::pair("digits-mlp", "fp32"),
                                         std::pair("digits-mlp", "fp64"),
                                         std::pair("bert-base", "fp32"),
                                         std::pair("bert-base", "fp64")),
                         [](const auto& row) {
                           std::string name = std::string(row.param.first) + row.param.second;
                           std::erase(name, '-');
                           return name;
                         });

TEST(GpuReducerOptions, ChangeNoGradient) {
  const EqualityCase which = make_case("bert-base", "fp32");
  const Dump single("single", 1, which);
  for (const Arguments& options : std::vector<Arguments>{{"--bucket-cap-mb", "0.05"},
                                                         {"--gradient-as-bucket-view"},
                                                         {"--static-graph"},
                                                         {"--find-unused-parameters"},
                                                         {"--no-broadcast-buffers"}}) {
    expect_equal(single, "ddp", ranks_count(), which, options);
  }
}

TEST(GpuOptimizer, ForeachAndFusedUpdateAlike) {
  const EqualityCase which = make_case("digits-mlp", "fp64");
  const Dump fused("single", 1, which);
  expect_equal(fused, "single", 1, which, {"--optimizer", "foreach-adamw"});
}

// fp16 has three bits of mantissa more than bf16: gradients computed in it are nearer to fp32's.
TEST(GpuAutocast, ReplicasTakeTheTypeTheyAreTold) {
  const Dump fp32("single", 1, make_case("bert-base", "fp32"));
  const EqualityCase which = make_case("bert-base", "bf16");
  const double in_bf16 = Dump("dp", 2, which, two_replicas()).difference(fp32, "grad");
  const double in_fp16 = Dump("dp", 2, which, with(two_replicas(), {"--dp-autocast", "pytorch"}))
                             .difference(fp32, "grad");
  EXPECT_LT(in_bf16, 0.1);
  EXPECT_LT(in_fp16, in_bf16 / 2);
  EXPECT_GT(in_fp16, 1e-5) << "it is not fp32";
}

}  // namespace
}  // namespace ddpprof::test

// Batches from pinned memory, copied on a stream of their own, are the same batches.
#include "tests/gpu/gpus.h"
#include "tests/trainers/gradients.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

class GpuInput : public testing::TestWithParam<const char*> {
 protected:
  EqualityCase which_ = make_case(GetParam(), "fp32");
};

TEST_P(GpuInput, IsTheSameWhoeverFetchesAndCopiesIt) {
  const Dump single("single", 1, which_);
  for (const Arguments& input :
       std::vector<Arguments>{{"--loader-threads", "3"},
                              {"--pin-memory"},
                              {"--pin-memory", "--loader-threads", "3", "--micro-steps", "2"}}) {
    expect_equal(single, "single", 1, which_, input);
    Arguments replicas = two_replicas();
    replicas.insert(replicas.end(), input.begin(), input.end());
    expect_equal(single, "dp", 2, which_, replicas);
    expect_equal(single, "ddp", ranks_count(), which_, input);
  }
}

INSTANTIATE_TEST_SUITE_P(Workloads, GpuInput, testing::Values("digits-mlp", "bert-base"),
                         [](const auto& row) { return std::string(row.param).substr(0, 4); });

}  // namespace
}  // namespace ddpprof::test

#include "tools/nearest.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(Nearest, FindsASlipOfTheFinger) {
  const std::vector<std::string> known = {"--workers", "--workload", "--width"};
  EXPECT_EQ(nearest("--wokers", known), "--workers");
  EXPECT_EQ(nearest("--workload", known), "--workload");
  EXPECT_EQ(nearest("--with", known), "--width");
}

TEST(Nearest, IsSilentWhenNothingIsClose) {
  EXPECT_EQ(nearest("--gpus", {"--workers", "--precision"}), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace ddpprof

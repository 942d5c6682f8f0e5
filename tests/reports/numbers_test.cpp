#include "reports/numbers.h"

#include <limits>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(Numbers, KeepThreeSignificantDigits) {
  EXPECT_EQ(number_text(0.0), "0");
  EXPECT_EQ(number_text(0.0001), "<0.001");
  EXPECT_EQ(number_text(0.0123), "0.012");
  EXPECT_EQ(number_text(0.1234), "0.12");
  EXPECT_EQ(number_text(1.234), "1.23");
  EXPECT_EQ(number_text(9.999), "10.0");
  EXPECT_EQ(number_text(12.34), "12.3");
  EXPECT_EQ(number_text(99.96), "100");
  EXPECT_EQ(number_text(-12.34), "-12.3");
  EXPECT_EQ(number_text(1234567.4), "1,234,567");
}

TEST(Numbers, AbsentOrEndlessIsADashNeverZero) {
  EXPECT_EQ(number_text(std::nullopt), kUnmeasured);
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), kUnmeasured);
  EXPECT_EQ(count_text(std::nullopt), kUnmeasured);
  EXPECT_EQ(share_text(std::nullopt), kUnmeasured);
}

TEST(Numbers, GroupThousands) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
}

TEST(Numbers, SharesShowSmallOnesFiner) {
  EXPECT_EQ(share_text(0.0), "0 %");
  EXPECT_EQ(share_text(0.0001), "<0.1 %");
  EXPECT_EQ(share_text(0.004), "0.4 %");
  EXPECT_EQ(share_text(0.123), "12 %");
  EXPECT_EQ(share_text(1.0), "100 %");
  EXPECT_EQ(share_text(-0.02), "-2 %");
}

TEST(Numbers, DurationsPickTheirUnit) {
  EXPECT_EQ(duration_text(0.48), "480 ms");
  EXPECT_EQ(duration_text(12.4), "12 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
}

}  // namespace
}  // namespace ddpprof

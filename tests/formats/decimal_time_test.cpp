#include "profiler/formats/decimal_time.h"

#include "profiler/formats/json_writer.h"
#include "tests/formats/random_trace.h"

#include <limits>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(DecimalTime, ReadsMicrosecondsAsNanoseconds) {
  EXPECT_EQ(parse_microseconds("0"), 0);
  EXPECT_EQ(parse_microseconds("12.345"), 12'345);
  EXPECT_EQ(parse_microseconds("-0.001"), -1);
  EXPECT_EQ(parse_microseconds("5.5"), 5'500);
  EXPECT_EQ(parse_microseconds("1700000000000000.123"), 1'700'000'000'000'000'123);
  EXPECT_EQ(parse_microseconds("-9223372036854775.808"), std::numeric_limits<std::int64_t>::min());
}

TEST(DecimalTime, ReadsExponents) {
  EXPECT_EQ(parse_microseconds("1.5e3"), 1'500'000);
  EXPECT_EQ(parse_microseconds("25E-1"), 2'500);
  EXPECT_EQ(parse_microseconds("1e+2"), 100'000);
  EXPECT_EQ(parse_microseconds("0e999"), 0);
  EXPECT_EQ(parse_microseconds("1e-999"), 0);
}

TEST(DecimalTime, RoundsWhatIsFinerThanANanosecond) {
  EXPECT_EQ(parse_microseconds("0.0004"), 0);
  EXPECT_EQ(parse_microseconds("0.0005"), 1);
  EXPECT_EQ(parse_microseconds("-0.0015"), -2);
  EXPECT_EQ(parse_microseconds("0.00049999999999999999999999"), 0);
  EXPECT_EQ(parse_microseconds("9.9999"), 10'000);
}

TEST(DecimalTime, IsAbsentWhenItIsNoNumberOrDoesNotFit) {
  for (const std::string_view text : {"",
                                      "-",
                                      ".",
                                      "1.",
                                      ".5",
                                      "abc",
                                      "1a",
                                      "1.2.3",
                                      "--1",
                                      "+1",
                                      "1e",
                                      "1e+",
                                      "1e1.5",
                                      " 1",
                                      "1 ",
                                      "9223372036854775.808",
                                      "99999999999999999999",
                                      "1e300",
                                      "NaN",
                                      "null",
                                      "\"1\""}) {
    EXPECT_FALSE(parse_microseconds(text).has_value()) << text;
  }
}

TEST(DecimalTime, ReadsBackWhatTheWriterWrites) {
  test::Random random(11);
  for (int i = 0; i < 100'000; ++i) {
    const std::int64_t time_ns = test::random_integer(random);
    std::string text;
    JsonWriter(text).microseconds(time_ns);
    ASSERT_EQ(parse_microseconds(text), time_ns) << text;
  }
}

}  // namespace
}  // namespace ddpprof

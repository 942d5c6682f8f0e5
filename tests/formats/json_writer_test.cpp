#include "profiler/formats/json_writer.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

template <typename Write>
std::string written(Write write) {
  std::string text;
  JsonWriter json(text);
  write(json);
  return text;
}

std::string microseconds(std::int64_t time_ns) {
  return written([&](JsonWriter& json) { json.microseconds(time_ns); });
}

std::string number(double value) {
  return written([&](JsonWriter& json) { json.value(value); });
}

std::string text(std::string_view value) {
  return written([&](JsonWriter& json) { json.value(value); });
}

TEST(JsonWriter, PutsCommasBetweenMembersAndItems) {
  EXPECT_EQ(written([](JsonWriter& json) {
              json.begin_object();
              json.member("a", 1);
              json.key("b");
              json.begin_array();
              json.value(true);
              json.null();
              json.begin_object();
              json.end_object();
              json.end_array();
              json.member("c", std::optional<std::int64_t>{});
              json.end_object();
            }),
            R"({"a": 1,"b": [true,null,{}],"c": null})");
}

TEST(JsonWriter, NewLinesGoBehindTheComma) {
  EXPECT_EQ(written([](JsonWriter& json) {
              json.begin_array();
              for (const std::int32_t item : {1, 2}) {
                json.new_line();
                json.value(item);
              }
              json.new_line();
              json.end_array();
            }),
            "[\n1,\n2\n]");
}

TEST(JsonWriter, TimesHaveExactlyThreeDecimals) {
  EXPECT_EQ(microseconds(0), "0.000");
  EXPECT_EQ(microseconds(1), "0.001");
  EXPECT_EQ(microseconds(-1), "-0.001");
  EXPECT_EQ(microseconds(12'345), "12.345");
  EXPECT_EQ(microseconds(-1'000), "-1.000");
  EXPECT_EQ(microseconds(9'000'000'000'000'010), "9000000000000.010");
  EXPECT_EQ(microseconds(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
  EXPECT_EQ(microseconds(std::numeric_limits<std::int64_t>::max()), "9223372036854775.807");
}

TEST(JsonWriter, DoublesReadBackAsTheSame) {
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "\"nan\"");
  EXPECT_EQ(number(-std::numeric_limits<double>::infinity()), "\"-inf\"");
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 1000; ++i) {
    const double value = std::pow(10.0, exponent(random));
    const std::string written_value = number(value);
    double back = 0;
    std::from_chars(written_value.data(), written_value.data() + written_value.size(), back);
    ASSERT_EQ(back, value);
  }
}

TEST(JsonWriter, EscapesWhatStrictJsonForbids) {
  EXPECT_EQ(text("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(text("\n\r\t\b"), R"("\n\r\t\u0008")");
  EXPECT_EQ(text(std::string_view("\0\x1f", 2)), R"("\u0000\u001f")");
  EXPECT_EQ(text("\xc3\xa4\xf0\x9f\x90\x9b"), "\"\xc3\xa4\xf0\x9f\x90\x9b\"");
}

TEST(JsonWriter, ReplacesWhatIsNotUtf8) {
  const std::string mark = "\xef\xbf\xbd";
  EXPECT_EQ(text("\xff"), "\"" + mark + "\"");
  EXPECT_EQ(text("a\xc3"), "\"a" + mark + "\"");                                 // cut off
  EXPECT_EQ(text("\xc0\xaf"), "\"" + mark + mark + "\"");                        // overlong
  EXPECT_EQ(text("\xed\xa0\x80"), "\"" + mark + mark + mark + "\"");             // a surrogate
  EXPECT_EQ(text("\xf4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\"");  // beyond U+10FFFF
}

}  // namespace
}  // namespace ddpprof

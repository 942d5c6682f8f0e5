#include "profiler/formats/json_value.h"

#include "profiler/trace/error.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// Reads the member "x" of an object as a T; the message of the Error where that fails.
template <typename T>
T read_x(std::string_view text) {
  const JsonValue value = parse_json(text, "test");
  T out{};
  JsonObject(value, "test", "").read("x", out);
  return out;
}

template <typename T>
std::string problem_with_x(std::string_view text) {
  try {
    read_x<T>(text);
    return {};
  } catch (const Error& error) {
    return error.problem;
  }
}

TEST(JsonValue, ReadsEachType) {
  EXPECT_TRUE(read_x<bool>(R"({"x": true})"));
  EXPECT_EQ(read_x<std::int64_t>(R"({"x": -9223372036854775808})"),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read_x<std::string>(R"({"x": "\u00e4\n"})"), "\xc3\xa4\n");
  EXPECT_EQ(read_x<std::optional<double>>(R"({"x": 2})"), 2.0);
  EXPECT_TRUE(std::isnan(*read_x<std::optional<double>>(R"({"x": "nan"})")));
  EXPECT_EQ(read_x<std::optional<double>>(R"({"x": "-inf"})"),
            -std::numeric_limits<double>::infinity());
  EXPECT_EQ(read_x<std::vector<std::int64_t>>(R"({"x": [1, 2]})"),
            (std::vector<std::int64_t>{1, 2}));
}

TEST(JsonValue, MissingAndNullAreAbsent) {
  EXPECT_FALSE(read_x<std::optional<std::int64_t>>(R"({"x": null})").has_value());
  EXPECT_FALSE(read_x<std::optional<std::int64_t>>("{}").has_value());
  EXPECT_FALSE(read_x<std::optional<std::string>>(R"({"x": null})").has_value());
  EXPECT_EQ(read_x<std::optional<std::string>>(R"({"x": "a"})"), "a");
}

TEST(JsonValue, SaysWhichMemberIsWrong) {
  EXPECT_EQ(problem_with_x<bool>("{}"), "\"x\" is missing");
  EXPECT_EQ(problem_with_x<bool>(R"({"x": 1})"), "\"x\" is not true or false");
  EXPECT_EQ(problem_with_x<std::int64_t>(R"({"x": 1.5})"), "\"x\" is not an integer");
  EXPECT_EQ(problem_with_x<std::int64_t>(R"({"x": 9223372036854775808})"),
            "\"x\" is not an integer");
  EXPECT_EQ(problem_with_x<std::int32_t>(R"({"x": 2147483648})"),
            "\"x\" is out of range: 2147483648");
  EXPECT_EQ(problem_with_x<std::vector<std::int64_t>>(R"({"x": {}})"), "\"x\" is not an array");
}

TEST(JsonValue, PlacesAreNamedAllTheWay) {
  const JsonValue value = parse_json(R"({"a": [{}, {"b": {"x": 1}}]})", "test");
  const JsonObject inner = JsonObject(value, "test", "top").objects("a")[1].object("b");
  bool out = false;
  try {
    inner.read("x", out);
    FAIL() << "an integer was read as a truth";
  } catch (const Error& error) {
    EXPECT_EQ(error.problem, "top.a[1].b.x is not true or false");
  }
}

TEST(JsonValue, RefusesWhatIsNotOneStrictValue) {
  for (const std::string_view text :
       {"", " ", "{", "}", "{\"a\": 1,}", "{} {}", "nan", "[1, 2", "\"", "{\"a\": 01}", "{'a': 1}",
        "\"\t\"", "\"\xff\"", "{\"a\": 1, \"a\": 2}", "[{\"a\": {}, \"b\": 1, \"a\": 2}]"}) {
    EXPECT_THROW(parse_json(text, "test"), Error) << text;
  }
}

}  // namespace
}  // namespace ddpprof

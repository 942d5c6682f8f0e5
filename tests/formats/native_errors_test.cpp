#include "profiler/formats/native.h"
#include "profiler/trace/error.h"
#include "tests/formats/small_trace.h"

#include <string>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// What reading says; empty when it works.
std::string problem_of(const std::string& text) {
  try {
    read_native(text, "rank0.json");
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "rank0.json");
    return error.problem;
  }
}

// The small trace, or another, with its first `from` replaced.
std::string with(std::string_view from, std::string_view to,
                 const Trace& trace = test::small_trace()) {
  std::string text = write_native(trace);
  const std::size_t found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  if (found != std::string::npos) text.replace(found, from.size(), to);
  return text;
}

bool mentions(const std::string& problem, std::string_view part) {
  return problem.find(part) != std::string::npos;
}

TEST(NativeErrors, EveryCutIsAnError) {
  const std::string text = write_native(test::small_trace());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    ASSERT_FALSE(problem_of(text.substr(0, length)).empty()) << length;
  }
}

TEST(NativeErrors, ACutFileIsCalledCutOff) {
  const std::string text = write_native(test::small_trace());
  EXPECT_EQ(problem_of(text.substr(0, text.size() / 2)), "is cut off");
  // Behind the closing bracket of an event.
  EXPECT_EQ(problem_of(text.substr(0, text.rfind("\n{") - 1)), "is cut off");
}

TEST(NativeErrors, NothingAndSpaceAreCalledEmpty) {
  EXPECT_EQ(problem_of(""), "is empty");
  EXPECT_EQ(problem_of(" \n\t"), "is empty");
}

TEST(NativeErrors, TextIsNotJson) {
  EXPECT_EQ(problem_of("ncalls  tottime"), "is not JSON");
  EXPECT_TRUE(mentions(problem_of("{\"ddpprof\" {}}"), "is not valid JSON"));
  EXPECT_FALSE(problem_of("{}}").empty());
  EXPECT_FALSE(problem_of(write_native(test::small_trace()) + "{}").empty());
}

TEST(NativeErrors, AForeignTraceIsNamedAsSuch) {
  const std::string problem = "is not a trace of ddpprof: it has no object \"ddpprof\"";
  EXPECT_EQ(problem_of(R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "ts": 1}]})"), problem);
  EXPECT_EQ(problem_of(R"([{"ph": "X"}])"), problem);
  EXPECT_EQ(problem_of("{}"), problem);
}

TEST(NativeErrors, ANewerSchemaIsRefusedWithBothNumbers) {
  try {
    read_native(with("\"schema\": 1", "\"schema\": 9"), "rank0.json");
    FAIL() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.problem, "\"ddpprof\" has schema 9; this program reads schema 1 to 1");
    EXPECT_EQ(error.hint, "read it with the ddpprof that wrote it");
  }
  EXPECT_TRUE(mentions(problem_of(with("\"schema\": 1", "\"schema\": 0")), "schema 0"));
}

TEST(NativeErrors, TheSchemaIsLookedAtBeforeAnythingElse) {
  EXPECT_TRUE(mentions(problem_of(R"({"ddpprof": {"schema": 2}, "traceEvents": []})"), "schema 2"));
}

TEST(NativeErrors, IndicesMustBeInRange) {
  EXPECT_TRUE(mentions(problem_of(with("\"thread\": 0", "\"thread\": 2")),
                       "thread 2 is not one of the 2 in the table"));
  EXPECT_TRUE(mentions(problem_of(with("\"thread\": 0", "\"thread\": -1")), "thread -1"));
  EXPECT_TRUE(mentions(problem_of(with("\"work\": 1", "\"work\": 5")), "work 5 of 5"));
  EXPECT_TRUE(mentions(problem_of(with("\"work\": 1", "\"work\": -1")), "out of range"));
  EXPECT_TRUE(mentions(problem_of(with("\"visit\": 0", "\"visit\": 3000000000")), "out of range"));
}

TEST(NativeErrors, FieldsMustBeThereAndOfTheirType) {
  EXPECT_TRUE(mentions(problem_of(with("\"computes\": true,", "")), "\"computes\" is missing"));
  EXPECT_TRUE(mentions(problem_of(with("\"ts\": 2000.000,", "")), "\"ts\" is missing"));
  EXPECT_TRUE(mentions(problem_of(with("\"ts\": 2000.000", "\"ts\": \"2\"")), "not a time"));
  EXPECT_TRUE(mentions(problem_of(with("\"visit\": 0", "\"visit\": \"0\"")),
                       "event 17: \"visit\" is not an integer"));
  EXPECT_TRUE(mentions(problem_of(with("\"phase\": \"forward\"", "\"phase\": \"sideways\"")),
                       "unknown phase \"sideways\""));
  EXPECT_TRUE(mentions(problem_of(with("\"activity\": \"compute\"", "\"activity\": \"stall\"")),
                       "work cannot be a stall"));
  EXPECT_TRUE(
      mentions(problem_of(with("\"collective\": \"all_reduce\"", "\"collective\": \"sum\"")),
               "unknown collective \"sum\""));
  EXPECT_TRUE(mentions(problem_of(with("\"phase\": \"forward\",", "")), "neither a step nor"));
  EXPECT_TRUE(
      mentions(problem_of(with("\"host\": ", "\"hast\": ")), "\"ddpprof\".host is missing"));
  EXPECT_TRUE(mentions(problem_of(with("\"traceEvents\"", "\"events\"")), "traceEvents"));
}

TEST(NativeErrors, StretchesOfADeviceMustSayWhereAndWhatTheyAre) {
  const auto problem = [](std::string_view from, std::string_view to) {
    return problem_of(with(from, to, test::phases_trace()));
  };
  EXPECT_TRUE(
      mentions(problem("\"name\": \"data\"", "\"name\": \"date\""), "unknown phase \"date\""));
  EXPECT_TRUE(
      mentions(problem("{\"device\": 0,\"step\": 10}", "{\"step\": 10}"), "\"device\" is missing"));
  EXPECT_TRUE(
      mentions(problem("{\"device\": 0,\"step\": 10}", "{\"device\": 0}"), "\"step\" is missing"));
  EXPECT_TRUE(mentions(problem("\"device\": 0,", "\"device\": 3000000000,"), "out of range"));
  EXPECT_TRUE(mentions(problem("\"ts\": 2001.000,", ""), "\"ts\" is missing"));
  EXPECT_TRUE(mentions(problem("\"number\": 1", "\"number\": \"1\""),
                       "\"ddpprof\".devices[0].number is not an integer"));
  const std::string text = write_native(test::phases_trace());
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    ASSERT_FALSE(problem_of(text.substr(0, length)).empty()) << length;
  }
}

TEST(NativeErrors, NoKeyMayAppearTwice) {
  for (const std::string_view twice :
       {R"("ph": "X",)", R"("ts": 2000.000,)", R"("visit": 0})", R"("computes": true,)",
        R"("activity": "compute")", R"("strategy": "ddp",)", R"("torch": "2.11.0"})"}) {
    std::string doubled(twice);
    if (doubled.back() == '}') {
      doubled = doubled.substr(0, doubled.size() - 1) + "," + doubled;
    } else if (doubled.back() == ',') {
      doubled += doubled;
    } else {
      doubled += "," + doubled;
    }
    EXPECT_TRUE(mentions(problem_of(with(twice, doubled)), "appears twice")) << twice;
  }
  EXPECT_TRUE(
      mentions(problem_of(with("\"traceEvents\": [", "\"traceEvents\": [],\"traceEvents\": [")),
               "\"traceEvents\" appears twice"));
  EXPECT_TRUE(mentions(problem_of(with("\"traceEvents\": [", "\"ddpprof\": {},\"traceEvents\": [")),
                       "\"ddpprof\" appears twice"));
}

TEST(NativeErrors, BadUtf8IsAnError) {
  EXPECT_FALSE(problem_of(with("digits-mlp", "digits\xff")).empty());
}

TEST(NativeErrors, DeepNestingIsAnErrorAndNoCrash) {
  const std::string deep(200'000, '[');
  EXPECT_FALSE(problem_of("{\"ddpprof\": " + deep + "}").empty());
  EXPECT_FALSE(problem_of("{\"x\": " + deep + std::string(200'000, ']') + "}").empty());
}

}  // namespace
}  // namespace ddpprof

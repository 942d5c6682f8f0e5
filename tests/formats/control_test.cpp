#include "profiler/formats/control.h"

#include "profiler/trace/error.h"
#include "tests/formats/random_trace.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using test::Random;
using test::random_below;
using test::random_bool;
using test::random_integer;
using test::random_small_integer;
using test::random_text;

std::optional<double> random_loss(Random& random) {
  if (random_bool(random)) return std::nullopt;
  return static_cast<double>(random_integer(random)) / 7919.0;
}

Message random_message(Random& random, std::int64_t which) {
  switch (which) {
    case 0:
      return PortMessage{random_small_integer(random)};
    case 1:
      return ProgressMessage{random_text(random), random_integer(random), random_integer(random)};
    case 2:
      return ReadyMessage{test::random_workload(random), test::random_devices(random),
                          random_text(random)};
    case 3: {
      RanMessage ran;
      for (std::int64_t i = random_below(random, 20); i > 0; --i) {
        ran.step_ends_ns.push_back(random_integer(random));
      }
      return ran;
    }
    case 4:
      return DoneMessage{random_integer(random), random_loss(random), random_loss(random)};
    default:
      return ErrorMessage{random_text(random), random_text(random), random_text(random),
                          random_bool(random)};
  }
}

TEST(Control, EveryMessageSurvives) {
  static_assert(std::variant_size_v<Message> == 6, "a new message needs a case above");
  Random random(5);
  for (int round = 0; round < 6000; ++round) {
    const Message message = random_message(random, round % 6);
    const std::string line = to_line(message);
    ASSERT_EQ(parse_message(line), message) << line;
    ASSERT_EQ(line.find('\n'), line.size() - 1) << "one line, and only one";
  }
}

TEST(Control, EveryOrderSurvives) {
  Random random(6);
  for (int round = 0; round < 1000; ++round) {
    const RunOrder run{random_integer(random), random_integer(random), random_bool(random),
                       random_small_integer(random)};
    ASSERT_EQ(parse_order(to_line(Order(run))), Order(run));
  }
  EXPECT_EQ(parse_order(to_line(Order(FinishOrder{}))), Order(FinishOrder{}));
}

TEST(Control, LinesLookAsDocumented) {
  EXPECT_EQ(to_line(Order(RunOrder{20, 2, true, 3})),
            "{\"type\": \"run\",\"steps\": 20,\"discarded\": 2,\"record\": true,\"visit\": 3}\n");
  EXPECT_EQ(to_line(Message(DoneMessage{5, 0.5, {}})),
            "{\"type\": \"done\",\"steps_count\": 5,\"first_loss\": 0.5,\"last_loss\": null}\n");
}

TEST(Control, ALossThatIsNoNumberSurvives) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string line = to_line(Message(DoneMessage{1, std::nan(""), -infinity}));
  const auto done = std::get<DoneMessage>(parse_message(line));
  EXPECT_TRUE(std::isnan(done.first_loss.value()));
  EXPECT_EQ(done.last_loss, -infinity);
}

TEST(Control, WorksWithAndWithoutTheNewline) {
  EXPECT_EQ(parse_order(R"({"type": "finish"})"), Order(FinishOrder{}));
  EXPECT_EQ(parse_order("{\"type\": \"finish\"}\r\n"), Order(FinishOrder{}));
}

std::string problem_of(std::string_view line) {
  try {
    parse_message(line);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "message from a trainer");
    return error.problem;
  }
}

TEST(Control, WhatIsNoMessageIsAnErrorThatSaysWhy) {
  EXPECT_EQ(problem_of("{\"type\": \"hello\"}"), "unknown type \"hello\"");
  EXPECT_EQ(problem_of("{\"type\": \"finish\"}"), "unknown type \"finish\"") << "an order";
  EXPECT_EQ(problem_of("{\"type\": \"port\"}"), "\"port\" is missing");
  EXPECT_EQ(problem_of("{\"type\": \"port\",\"port\": \"1\"}"), "\"port\" is not an integer");
  EXPECT_EQ(problem_of("{}"), "\"type\" is missing");
  EXPECT_EQ(problem_of("[]"), "is not an object");
  EXPECT_NE(problem_of("Traceback (most recent call last):"), "");
  EXPECT_NE(problem_of(""), "");
  EXPECT_THROW(parse_order("{\"type\": \"ready\"}"), Error);
}

}  // namespace
}  // namespace ddpprof

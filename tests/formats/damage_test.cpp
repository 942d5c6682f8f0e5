// Valid input, damaged at random: the answer is an Error or a valid value, never a crash.
#include "profiler/formats/control.h"
#include "profiler/formats/gzip.h"
#include "profiler/formats/native.h"
#include "profiler/trace/error.h"
#include "tests/formats/random_trace.h"
#include "tests/formats/small_trace.h"

#include <string>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using test::Random;
using test::random_below;

std::size_t random_index(Random& random, std::size_t size) {
  return static_cast<std::size_t>(random_below(random, static_cast<std::int64_t>(size)));
}

// One cut, flip, repetition, removal or swap.
void damage_once(Random& random, std::string& text) {
  if (text.empty()) return;
  const std::size_t at = random_index(random, text.size());
  const std::size_t length = random_index(random, 20);
  // Bytes that mean something to JSON do more harm than others.
  constexpr std::string_view kMeaningful = "{}[],:\"\\0123456789-+.eE tfn\n";
  switch (random_below(random, 7)) {
    case 0:
      text.resize(at);
      break;
    case 1:
      text[at] = static_cast<char>(text[at] ^ (1 << random_below(random, 8)));
      break;
    case 2:
      text[at] = kMeaningful[random_index(random, kMeaningful.size())];
      break;
    case 3:
      text.insert(at, 1, kMeaningful[random_index(random, kMeaningful.size())]);
      break;
    case 4:
      text.insert(at, text.substr(random_index(random, text.size()), length));
      break;
    case 5:
      text.erase(at, length);
      break;
    default:
      std::swap(text[at], text[random_index(random, text.size())]);
      break;
  }
}

std::string damaged(Random& random, std::string text) {
  for (std::int64_t i = random_below(random, 3); i >= 0; --i) damage_once(random, text);
  return text;
}

TEST(Damage, NativeTracesGiveAnErrorOrAValidTrace) {
  Random random(99);
  const std::string text = write_native(test::small_trace());
  int errors_count = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string input = damaged(random, text);
    try {
      const Trace trace = read_native(input, "test");
      // Valid: it can be written, and reads back as itself.
      ASSERT_EQ(read_native(write_native(trace), "test"), trace) << input;
    } catch (const Error& error) {
      ASSERT_FALSE(error.problem.empty());
      ++errors_count;
    }
  }
  EXPECT_GT(errors_count, 10'000);
  EXPECT_LT(errors_count, 20'000) << "some damage is harmless";
}

TEST(Damage, TracesOfPhasesGiveAnErrorOrAValidTrace) {
  Random random(103);
  const std::string text = write_native(test::phases_trace());
  int errors_count = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::string input = damaged(random, text);
    try {
      const Trace trace = read_native(input, "test");
      ASSERT_EQ(read_native(write_native(trace), "test"), trace) << input;
    } catch (const Error& error) {
      ASSERT_EQ(error.subject, "test");
      ++errors_count;
    }
  }
  EXPECT_GT(errors_count, 10'000);
  EXPECT_LT(errors_count, 20'000) << "some damage is harmless";
}

TEST(Damage, RandomTracesToo) {
  Random random(100);
  for (int round = 0; round < 3000; ++round) {
    const std::string input = damaged(random, write_native(test::random_trace(random)));
    try {
      const Trace trace = read_native(input, "test");
      ASSERT_EQ(read_native(write_native(trace), "test"), trace) << input;
    } catch (const Error& error) {
      ASSERT_EQ(error.subject, "test");
    }
  }
}

TEST(Damage, ControlLinesGiveAnErrorOrAValidMessage) {
  Random random(101);
  ReadyMessage ready{test::small_trace().info.workload, test::small_trace().info.devices, "2.11"};
  const std::vector<std::string> lines = {to_line(Message(PortMessage{29'500})),
                                          to_line(Message(ProgressMessage{"steps", 3, 10})),
                                          to_line(Message(ready)),
                                          to_line(Message(RanMessage{{1, 2, 3}})),
                                          to_line(Message(DoneMessage{3, 1.25, {}})),
                                          to_line(Message(ErrorMessage{"a", "b", "c"})),
                                          to_line(Order(RunOrder{1, 2, true, 3})),
                                          to_line(Order(FinishOrder{}))};
  for (int round = 0; round < 20'000; ++round) {
    const std::string input = damaged(random, lines[random_index(random, lines.size())]);
    try {
      const Message message = parse_message(input);
      ASSERT_EQ(to_line(parse_message(to_line(message))), to_line(message));
    } catch (const Error& error) {
      ASSERT_EQ(error.subject, "message from a trainer");
    }
    try {
      const Order order = parse_order(input);
      ASSERT_EQ(parse_order(to_line(order)), order);
    } catch (const Error& error) {
      ASSERT_EQ(error.subject, "order from ddpprof compare");
    }
  }
}

TEST(Damage, EveryCutOfAControlLineIsAnError) {
  const std::string line = to_line(Message(DoneMessage{3, 1.25, {}}));
  for (std::size_t length = 0; length + 1 < line.size(); ++length) {
    EXPECT_THROW(parse_message(line.substr(0, length)), Error) << length;
  }
}

TEST(Damage, GzipGivesAnErrorOrTheLimit) {
  Random random(102);
  const std::string data = compress_gzip(write_native(test::small_trace()));
  for (int round = 0; round < 5000; ++round) {
    try {
      ASSERT_LE(decompress_gzip(damaged(random, data), 1'000'000, "test").size(), 1'000'000u);
    } catch (const Error& error) {
      ASSERT_EQ(error.subject, "test");
    }
  }
}

}  // namespace
}  // namespace ddpprof

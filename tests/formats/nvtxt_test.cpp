// The rules of the importer, read from the text alone.
#include "profiler/formats/nvtxt.h"

#include "tests/formats/random_trace.h"
#include "tests/formats/small_trace.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kIdLimit = std::int64_t{1} << 24;
constexpr std::int64_t kTimeLimit = std::int64_t{1} << 53;

using Row = std::pair<std::int64_t, std::int64_t>;  // process, thread

struct Push {
  Row row;
  Span span;
  std::int64_t category = 0;
  std::string text;
};

// What the importer makes of a text. Adds failures for what it refuses or loses.
class Import {
 public:
  explicit Import(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) read(line);
    for (const auto& [row, open] : open_) EXPECT_TRUE(open.empty()) << "no pop on " << row.second;
    for (const Push& push : pushes) EXPECT_TRUE(row_names.contains(push.row)) << push.text;
  }

  std::vector<Push> on(const std::string& name) const {
    std::vector<Push> found;
    for (const Push& push : pushes) {
      if (row_names.at(push.row) == name) found.push_back(push);
    }
    return found;
  }
  std::set<std::string> all_row_names() const {
    std::set<std::string> names;
    for (const auto& [row, name] : row_names) names.insert(name);
    return names;
  }

  std::map<std::int64_t, std::string> process_names;
  std::map<Row, std::string> row_names;
  std::vector<Push> pushes;

 private:
  void read(const std::string& line) {
    for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
    if (line.empty() || line[0] == '#') return;
    if (line[0] == '@') return declare(line);
    const std::string event = line.substr(0, line.find_first_of(", ="));
    if (event == "TimeBase" || event == "SetFileDisplayName") return;
    ASSERT_TRUE(columns_.contains(event)) << line << ": its columns are not declared";
    read_event(event, split(line), line);
  }

  void declare(const std::string& line) {
    std::vector<std::string> words = split(line.substr(1));
    columns_[words[0]] = {words.begin() + 1, words.end()};
  }

  void read_event(const std::string& event, const std::vector<std::string>& words,
                  const std::string& line) {
    const std::vector<std::string>& columns = columns_[event];
    ASSERT_EQ(words.size(), columns.size() + 1) << line;
    std::map<std::string, std::string> values;
    for (std::size_t i = 0; i < columns.size(); ++i) values[columns[i]] = words[i + 1];
    const auto number = [&](const char* key) { return std::stoll(values.at(key)); };
    const Row row{number("ProcessId"), values.contains("ThreadId") ? number("ThreadId") : 1};
    for (const std::int64_t id : {row.first, row.second}) {
      EXPECT_GT(id, 0) << line;
      EXPECT_LT(id, kIdLimit) << line;
    }
    if (event == "NameProcess") {
      EXPECT_TRUE(process_names.emplace(row.first, text_of(values.at("Name"))).second) << line;
    } else if (event == "NameOsThread") {
      const std::string name = text_of(values.at("Name"));
      EXPECT_FALSE(all_row_names().contains(name)) << line << ": a row has this name";
      EXPECT_TRUE(row_names.emplace(row, name).second) << line;
    } else {
      read_range(event, row, number("Time"), values);
    }
  }

  void read_range(const std::string& event, Row row, std::int64_t time_ns,
                  const std::map<std::string, std::string>& values) {
    EXPECT_GE(time_ns, 0);
    EXPECT_LT(time_ns, kTimeLimit);
    const auto last = last_ns_.try_emplace(row, time_ns).first;
    EXPECT_LE(last->second, time_ns) << "time goes back on a row";
    last->second = time_ns;
    std::vector<std::size_t>& open = open_[row];
    if (event == "RangePush") {
      open.push_back(pushes.size());
      pushes.push_back({row,
                        {time_ns, time_ns},
                        std::stoll(values.at("CategoryId")),
                        text_of(values.at("Message"))});
      return;
    }
    ASSERT_EQ(event, "RangePop");
    ASSERT_FALSE(open.empty()) << "a pop without a push";
    pushes[open.back()].span.end_ns = time_ns;
    open.pop_back();
  }

  static std::string text_of(const std::string& quoted) {
    EXPECT_GE(quoted.size(), 2u) << quoted;
    EXPECT_TRUE(quoted.front() == '"' && quoted.back() == '"') << quoted;
    return quoted.substr(1, quoted.size() - 2);
  }

  // At commas outside quotes.
  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> words(1);
    bool is_in_text = false;
    for (const char c : line) {
      if (c == '"') is_in_text = !is_in_text;
      if (c == ',' && !is_in_text) {
        words.emplace_back();
      } else if (c != ' ' || is_in_text) {
        words.back() += c;
      }
    }
    EXPECT_FALSE(is_in_text) << line;
    return words;
  }

  std::map<std::string, std::vector<std::string>> columns_;
  std::map<Row, std::vector<std::size_t>> open_;
  std::map<Row, std::int64_t> last_ns_;
};

TEST(Nvtxt, HasARowForEachTrack) {
  const Import import(write_nvtxt(std::vector{test::small_trace()}));
  EXPECT_EQ(import.process_names, (std::map<std::int64_t, std::string>{{1, "ddp rank 1"}}));
  EXPECT_EQ(import.all_row_names(),
            (std::set<std::string>{"steps, ddp rank 1", "main, ddp rank 1", "replica 1, ddp rank 1",
                                   "GPU 1 stream 7, ddp rank 1", "GPU 1 stream 20, ddp rank 1",
                                   "collectives, ddp rank 1", "collectives +1, ddp rank 1"}));
}

TEST(Nvtxt, HasStepsScopesAndTheCallsInThem) {
  const Import import(write_nvtxt(std::vector{test::small_trace()}));
  const auto steps = import.on("steps, ddp rank 1");
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].text, "step 10");
  EXPECT_EQ(steps[0].span, (Span{0, 2'000'000})) << "0 is the first event of all";
  EXPECT_EQ(steps[1].text, "step 11");
  const auto main = import.on("main, ddp rank 1");
  ASSERT_EQ(main.size(), 3u);
  EXPECT_EQ(main[0].text, "DistributedDataParallel.forward");
  EXPECT_EQ(main[0].span, (Span{100, 500'000}));
  EXPECT_EQ(main[0].category, static_cast<std::int64_t>(Phase::forward) + 1);
  EXPECT_EQ(main[1].text, "cudaLaunchKernel");
  EXPECT_EQ(main[1].span, (Span{100'000, 104'999}));
}

TEST(Nvtxt, SaysWhatACollectiveCarries) {
  const Import import(write_nvtxt(std::vector{test::small_trace()}));
  EXPECT_EQ(import.on("collectives, ddp rank 1").at(0).text, "all_reduce #41, 340008 bytes");
}

TEST(Nvtxt, TextsLoseWhatTheImporterDoesNotTake) {
  Trace trace = test::small_trace();
  trace.names[trace.scopes[1].name.index] = "a \"b\"\\\n\tc, d \x7f\xc3\xa4";
  const Import import(write_nvtxt(std::vector{trace}));
  EXPECT_EQ(import.on("replica 1, ddp rank 1").at(0).text, "a 'b'\\  c, d  \xc3\xa4");
}

TEST(Nvtxt, KernelsThatOverlapGetFurtherRows) {
  Trace trace = test::small_trace();
  const Work work = trace.work[0];
  trace.work = {work, work, work};
  trace.work[1].span = {work.span.begin_ns + 10, work.span.begin_ns + 20};  // would nest
  trace.work[2].span = {work.span.end_ns - 1, work.span.end_ns + 50};
  trace.collectives.clear();
  const Import import(write_nvtxt(std::vector{trace}));
  EXPECT_EQ(import.on("GPU 1 stream 7, ddp rank 1").size(), 1u);
  EXPECT_EQ(import.on("GPU 1 stream 7 +1, ddp rank 1").size(), 2u);
}

// DataParallel's replicas have new threads every step.
TEST(Nvtxt, ThreadsOfOneNameShareARow) {
  Trace trace = test::small_trace();
  Thread next = trace.threads[1];
  next.system_id = 4721;
  trace.threads.push_back(next);
  Scope scope = trace.scopes[1];
  scope.thread = {2};
  scope.span = {scope.span.end_ns + 100, scope.span.end_ns + 200};
  trace.scopes.push_back(scope);
  const Import import(write_nvtxt(std::vector{trace}));
  EXPECT_EQ(import.on("replica 1, ddp rank 1").size(), 2u);
}

TEST(Nvtxt, KernelsHaveTheirShortNames) {
  Trace trace = test::small_trace();
  trace.names[trace.work[0].name.index] =
      "void at::native::vectorized_elementwise_kernel<4, float>(int, float)";
  const Import import(write_nvtxt(std::vector{trace}));
  EXPECT_EQ(import.on("GPU 1 stream 7, ddp rank 1").at(0).text, "vectorized_elementwise_kernel");
}

TEST(Nvtxt, AnEmptyRangeIsAPushAndAPop) {
  Trace trace;
  trace.names = {"k"};
  trace.work = {{.span = {50, 50}, .name = {0}}, {.span = {50, 60}, .name = {0}}};
  const Import import(write_nvtxt(std::vector{trace}));
  ASSERT_EQ(import.pushes.size(), 2u);
  EXPECT_EQ(import.pushes[0].span.length_ns() + import.pushes[1].span.length_ns(), 10);
}

TEST(Nvtxt, TracesOfOneClockKeepTheirDistance) {
  std::vector<Trace> traces = {test::small_trace(), test::small_trace()};
  traces[1].info.rank = 0;
  traces[1].scopes.clear();
  traces[1].calls.clear();
  for (Step& step : traces[1].steps) {
    step.span = {step.span.begin_ns + 700, step.span.end_ns + 700};
  }
  const Import import(write_nvtxt(traces));
  EXPECT_EQ(import.on("steps, ddp rank 1").at(0).span.begin_ns, 0);
  EXPECT_EQ(import.on("steps, ddp rank 0").at(0).span.begin_ns, 700);
}

TEST(Nvtxt, TwoTracesOfOneNameStayApart) {
  const Import import(write_nvtxt(std::vector{test::small_trace(), test::small_trace()}));
  EXPECT_EQ(import.process_names.size(), 2u);
  EXPECT_NE(import.process_names.at(1), import.process_names.at(2));
  EXPECT_EQ(import.on("main, ddp rank 1").size(), import.on("main, ddp rank 1 #2").size());
}

TEST(Nvtxt, TimedPhasesStandOnTheMainStream) {
  const Import import(write_nvtxt(std::vector{test::phases_trace()}));
  const auto phases = import.on("GPU 1 main stream, ddp rank 1");
  ASSERT_EQ(phases.size(), 5u);
  EXPECT_EQ(phases[1].text, "forward");
  EXPECT_EQ(phases[1].span.length_ns(), 698'500);
}

TEST(Nvtxt, WhatTheImporterWantsHoldsForEveryTrace) {
  test::Random random(20'261'201);
  for (int round = 0; round < 1500; ++round) {
    std::vector<Trace> traces;
    std::size_t events_count = 0;
    for (std::int64_t i = test::random_below(random, 4); i > 0; --i) {
      const Trace& trace = traces.emplace_back(test::random_trace(random));
      events_count += trace.steps.size() + trace.scopes.size() + trace.calls.size() +
                      trace.work.size() + trace.device_phases.size() + trace.collectives.size();
    }
    const std::string text = write_nvtxt(traces);
    const Import import(text);
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << round << "\n" << text;
    ASSERT_EQ(import.pushes.size(), events_count);
    ASSERT_EQ(import.process_names.size(), traces.size());
    ASSERT_EQ(write_nvtxt(traces), text);
  }
}

}  // namespace
}  // namespace ddpprof

#include "reports/terminal.h"

#include "reports/table.h"
#include "tests/reports/sample_diagnosis.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) return line;
  }
  return "no line with " + part;
}

// From the table of phases on.
constexpr const char* kPhasesAlone = R"(where a recorded step goes, mean ms and share
forward                       4.00   40 %    4.00   40 %     4.00   40 %
backward                      5.00   50 %    5.00   50 %     5.00   50 %
optimizer                     1.00   10 %    1.00   10 %     1.00   10 %
sum                           10.0  100 %    10.0  100 %     10.0  100 %

gradient all-reduce in flight, mean ms and share
hidden behind compute                                           —
last rank waits                                              1.00
transfer                                                     2.00
in flight                                                    3.00  100 %
waiting, mean of all ranks                                   1.00

how it was measured
recorder's cost                       2 %            2 %             2 %
  95 % interval                1 % to 3 %     1 % to 3 %      1 % to 3 %
recorded steps                          2              2               2
unaccounted, ns                         0              0               0
Phases alone were timed (CUDA events). What is hidden is not known.
)";

TEST(Table, AlignsColumnsAndCountsCodePoints) {
  Table table;
  table.add({"name", "a", "bb"});
  table.add({"x", "\u2014", "1"});
  table.add({});
  table.add({"a heading that is longer than any column"});
  EXPECT_EQ(table.text(),
            "name  a  bb\n"
            "x     \u2014   1\n"
            "\n"
            "a heading that is longer than any column\n");
}

TEST(TerminalReport, BeginsWithTheVerdict) {
  const std::string text = terminal_report(test::sample_diagnosis());
  EXPECT_TRUE(text.starts_with("A DDP step on 2 devices takes 13.0 ms")) << text;
}

TEST(TerminalReport, FitsEightyColumns) {
  std::istringstream lines(terminal_report(test::sample_diagnosis()));
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
  }
}

TEST(TerminalReport, ShowsAPhaseOnceAndItsActivitiesBelow) {
  const std::string text = terminal_report(test::sample_diagnosis());
  EXPECT_EQ(line_with(text, "forward"),
            "forward: compute              4.00   40 %    4.00   40 %     4.00   40 %")
      << text;
  EXPECT_NE(line_with(text, "backward").find("5.00   50 %"), std::string::npos) << text;
  EXPECT_NE(line_with(text, "  stall").find("1.00   10 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("scatter"), std::string::npos) << "phases that took no time have no row";
}

TEST(TerminalReport, AnActivityUnderOnePercentEverywhereIsOnlyInItsPhase) {
  Diagnosis diagnosis = test::sample_diagnosis();
  DeviceFigures& single = diagnosis.strategies[0].shown;
  single.breakdown.add({Phase::forward, Activity::stall, {}}, 100'000);  // 0.5 % of 20 ms
  const std::string text = terminal_report(diagnosis);
  const std::string after_forward = text.substr(text.find("\nforward "));
  EXPECT_NE(line_with(text, "forward").find("4.05"), std::string::npos) << text;
  const std::string first_stall = line_with(after_forward, "  stall");
  EXPECT_EQ(first_stall.find("0.050"), std::string::npos) << text;
  single.breakdown.add({Phase::forward, Activity::stall, {}}, 100'000);  // now 1 %
  EXPECT_NE(line_with(terminal_report(diagnosis), "0.10").find("  stall"), std::string::npos);
}

TEST(TerminalReport, ShowsHiddenAllReduceBeside) {
  const std::string text = terminal_report(test::sample_diagnosis());
  EXPECT_NE(line_with(text, "hidden behind compute").find("2.00   67 %"), std::string::npos)
      << text;
  EXPECT_NE(line_with(text, "exposed: transfer").find("0.50   17 %"), std::string::npos) << text;
}

TEST(TerminalReport, OfPhasesAloneHasARowAPhaseAndDashesWithTheirReason) {
  const std::string text = terminal_report(test::phases_diagnosis());
  EXPECT_EQ(text.substr(text.find("where a recorded step goes")), kPhasesAlone);
}

TEST(TerminalReport, HasDashesWhereOneStrategyAloneWasTimedByPhases) {
  Diagnosis diagnosis = test::sample_diagnosis();
  test::forget_activities(diagnosis.strategies[0]);
  const std::string text = terminal_report(diagnosis);
  EXPECT_EQ(line_with(text, "forward"),
            "forward                       4.00   40 %    4.00   40 %     4.00   40 %")
      << text;
  EXPECT_EQ(line_with(text, "  compute"),
            "  compute                        \u2014           4.00   40 %     4.00   40 %")
      << text;
  EXPECT_EQ(line_with(text, "all_reduce"),
            "all_reduce: communication                                    1.00   10 %")
      << text;
  EXPECT_NE(line_with(text, "hidden behind compute").find("2.00   67 %"), std::string::npos)
      << text;
  EXPECT_NE(text.find("exposed: transfer"), std::string::npos) << "the parts are known";
  EXPECT_NE(text.find("\nsingle: phases alone were timed (CUDA events)"), std::string::npos)
      << text;
}

TEST(TerminalReport, OfRecordedWorkSaysNothingOfEvents) {
  EXPECT_EQ(terminal_report(test::sample_diagnosis()).find("CUDA events"), std::string::npos);
}

TEST(TerminalReport, OfPhasesAloneFitsEightyColumns) {
  std::istringstream lines(terminal_report(test::phases_diagnosis()));
  for (std::string line; std::getline(lines, line);) {
    const auto columns = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 80) << line;
  }
}

TEST(TerminalReport, ShowsThePeakMemoryOfGpusAlone) {
  Diagnosis diagnosis = test::sample_diagnosis();
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  diagnosis.strategies[1].peak_memory_bytes = {9 * kGib, 5 * kGib};
  diagnosis.strategies[2].peak_memory_bytes = {std::nullopt, 6 * kGib};
  EXPECT_EQ(terminal_report(diagnosis).find("peak memory"), std::string::npos) << "on a CPU";
  for (StrategyDiagnosis& strategy : diagnosis.strategies) {
    for (RankFigures& rank : strategy.per_rank) rank.device_name = "cuda:0";
  }
  const std::string text = terminal_report(diagnosis);
  const std::string row = line_with(text, "peak memory, GiB");
  EXPECT_TRUE(row.ends_with(" \u2014           9.00            6.00")) << text;
}

TEST(TerminalReport, WorksForOneStrategyAlone) {
  Diagnosis diagnosis = test::sample_diagnosis();
  diagnosis.strategies.erase(diagnosis.strategies.begin() + 1, diagnosis.strategies.end());
  diagnosis.comparison = {};
  const std::string text = terminal_report(diagnosis);
  EXPECT_EQ(text.find("all-reduce"), std::string::npos) << text;
  EXPECT_NE(text.find("1 device"), std::string::npos) << text;
}

}  // namespace
}  // namespace ddpprof

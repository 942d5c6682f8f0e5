// What the table says of an input-bound training: work of the thread that fetches, or a wait for
// those that do.
#include "tests/trainers/delay_check.h"
#include "tests/trainers/step_tables.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr int kRecordedSteps = 20;
constexpr int kBatch = 16;
constexpr int kCost_us = 300;
constexpr std::int64_t kAsked_ns = std::int64_t{kRecordedSteps} * kBatch * kCost_us * 1000;

// Sums over the recorded steps of one device.
struct DataTime {
  std::int64_t compute_ns = 0, stall_ns = 0, all_ns = 0;  // all: of every phase
};

// A batch costs 4.8 ms of CPU time, the rest of a step some 0.3 ms.
DataTime input_bound(const std::string& loader_threads) {
  const std::vector<Trace> traces =
      record("single", 1,
             {"--width", "16", "--batch", std::to_string(kBatch), "--threads", "1", "--warmup", "5",
              "--steps", std::to_string(5 + kRecordedSteps), "--data-cost-us",
              std::to_string(kCost_us), "--loader-threads", loader_threads});
  DataTime time;
  for (const StepTable& table : tabulate(traces.at(0), 0)) {
    EXPECT_EQ(table.residual_ns, 0);
    time.compute_ns += table[{Phase::data, Activity::compute}];
    time.stall_ns += table[{Phase::data, Activity::stall}];
    for (const auto& [cell, ns] : table.cells_ns) time.all_ns += ns;
  }
  return time;
}

TEST(InputTable, FetchingInTheTrainingThreadIsItsWork) {
  const DataTime data = input_bound("0");
  // A stall it has where others took its core.
  EXPECT_GE(data.compute_ns, kAsked_ns);
  EXPECT_LE(data.compute_ns, kAsked_ns * 11 / 10);
}

TEST(InputTable, WaitingForALoaderThreadIsAStall) {
  const DataTime data = input_bound("1");
  EXPECT_GT(data.stall_ns, data.all_ns / 2);
  EXPECT_EQ(data.compute_ns, 0);
}

}  // namespace
}  // namespace ddpprof::test

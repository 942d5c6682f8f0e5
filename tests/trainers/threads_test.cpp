// A device computes with as many threads as it was given: more would make strategies unequal.
#include "tests/trainers/trainer_process.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

// How many threads the process had, looked at again and again until it ended.
std::vector<std::ptrdiff_t> watch_threads(TrainerProcess& process) {
  const auto folder = std::filesystem::path("/proc") / std::to_string(process.pid()) / "task";
  std::vector<std::ptrdiff_t> counts;
  while (!process.wait(0.001)) {
    std::error_code ended;
    const std::filesystem::directory_iterator tasks(folder, ended);
    if (!ended) counts.push_back(std::distance(begin(tasks), end(tasks)));
  }
  return counts;
}

TEST(Threads, AReplicaOfOneThreadStartsNoOther) {
  TrainerProcess process({"--strategy", "dp", "--workers", "2", "--threads", "1", "--workload",
                          "digits-mlp", "--steps", "1500"});
  const std::vector<std::ptrdiff_t> counts = watch_threads(process);
  EXPECT_EQ(process.wait(), 0) << process.error();
  ASSERT_GE(counts.size(), 50u);
  EXPECT_GE(std::ranges::max(counts), 2) << "the replicas were never seen";
  // Main and two replicas. A thread that was joined is still listed for a moment.
  const auto more = std::ranges::count_if(counts, [](std::ptrdiff_t count) { return count > 3; });
  EXPECT_LT(static_cast<double>(more), 0.1 * static_cast<double>(counts.size()));
}

}  // namespace
}  // namespace ddpprof::test

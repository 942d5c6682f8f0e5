#include "trainers/common/data_cost.h"

#include "profiler/record/clocks.h"

#include <algorithm>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::int64_t kCost_ns = 2'000'000;

// Median of several, since a tick of the kernel may fall between two looks at the clock.
std::int64_t cpu_of_computing_ns() {
  std::vector<std::int64_t> costs_ns(9);
  for (std::int64_t& cost_ns : costs_ns) {
    const std::int64_t begin_ns = thread_cpu_ns();
    compute_for(kCost_ns, {});
    cost_ns = thread_cpu_ns() - begin_ns;
  }
  std::ranges::nth_element(costs_ns, costs_ns.begin() + 4);
  return costs_ns[4];
}

TEST(DataCost, IsCpuTimeOfTheThread) {
  const std::int64_t cost_ns = cpu_of_computing_ns();
  EXPECT_GE(cost_ns, kCost_ns);
  EXPECT_LE(cost_ns, kCost_ns * 11 / 10);
}

TEST(DataCost, IsTheSameOnABusyMachine) {
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 2 * std::max(1U, std::thread::hardware_concurrency()); ++i) {
    others.emplace_back([](const std::stop_token& stop) { compute_for(60'000'000'000, stop); });
  }
  const std::int64_t cost_ns = cpu_of_computing_ns();
  EXPECT_GE(cost_ns, kCost_ns);
  EXPECT_LE(cost_ns, kCost_ns * 11 / 10);
}

TEST(DataCost, EndsWhenItIsToldTo) {
  std::jthread thread([](const std::stop_token& stop) { compute_for(600'000'000'000, stop); });
  thread.request_stop();
  thread.join();  // or the test's time is over
}

}  // namespace
}  // namespace ddpprof::test

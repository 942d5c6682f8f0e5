#include "profiler/record/fifo_queue.h"

#include <algorithm>
#include <random>
#include <string_view>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// One item a row, one column a nanosecond: '.' waits in the queue, '#' moves. What is drawn is the
// expectation; only the first mark and the last reach the function.
struct Drawing {
  std::vector<QueuedItem> items;
  std::vector<std::int64_t> starts;
};

Drawing draw(const std::vector<std::string_view>& rows) {
  Drawing drawing;
  for (const std::string_view row : rows) {
    const auto ready = static_cast<std::int64_t>(row.find_first_of(".#"));
    drawing.items.push_back({ready, static_cast<std::int64_t>(row.size())});
    drawing.starts.push_back(static_cast<std::int64_t>(std::min(row.find('#'), row.size())));
  }
  return drawing;
}

void expect_drawn(int workers, const std::vector<std::string_view>& rows) {
  const Drawing drawing = draw(rows);
  EXPECT_EQ(find_fifo_starts(drawing.items, workers), drawing.starts);
}

TEST(FifoQueue, AnIdleWorkerTakesAnItemUpAtOnce) {
  expect_drawn(1, {"###",  //
                   "    ##"});
}

TEST(FifoQueue, OneWorkerTakesOneItemAfterTheOther) {
  expect_drawn(1, {"#####",         //
                   " ....###",      //
                   "  ......####",  //
                   "            #"});
}

TEST(FifoQueue, TwoWorkersServeTwoItemsAtATime) {
  expect_drawn(2, {
                      "######",     //
                      " ###",       //
                      "  ..####",   //
                      "   ...####"  //
                  });
}

TEST(FifoQueue, AnItemMayEndBeforeOneThatWasSubmittedEarlier) {
  expect_drawn(2, {"##########",  //
                   " ##",         //
                   "  .##",       //
                   "   ..##",     //
                   "    ...##"});
}

TEST(FifoQueue, MoreWorkersThanItemsMeanNoWaiting) { expect_drawn(100, {"####", " ###", "  ##"}); }

TEST(FifoQueue, NoStartIsLaterThanItsOwnEnd) {
  // The ends contradict one worker: the second ended while the first was still moving.
  const std::vector<QueuedItem> items = {{0, 10}, {2, 5}};
  EXPECT_EQ(find_fifo_starts(items, 1), (std::vector<std::int64_t>{0, 5}));
}

TEST(FifoQueue, NothingQueuedGivesNothing) { EXPECT_TRUE(find_fifo_starts({}, 2).empty()); }

TEST(FifoQueue, FewerThanOneWorkerCountAsOne) {
  const std::vector<QueuedItem> items = {{0, 4}, {1, 6}};
  EXPECT_EQ(find_fifo_starts(items, 0), find_fifo_starts(items, 1));
}

// Workers that run step by step through time, as threads on a condition variable do.
struct Simulation {
  std::vector<QueuedItem> items;
  std::vector<std::int64_t> starts;
};

Simulation simulate(std::mt19937_64& random, int workers) {
  const auto count = static_cast<std::size_t>(random() % 30);
  std::vector<std::int64_t> ready_ns(count), work_ns(count);
  for (std::int64_t& time_ns : ready_ns) time_ns = static_cast<std::int64_t>(random() % 60);
  for (std::int64_t& time_ns : work_ns) time_ns = static_cast<std::int64_t>(1 + random() % 12);
  std::ranges::sort(ready_ns);

  Simulation simulation{std::vector<QueuedItem>(count), std::vector<std::int64_t>(count)};
  std::vector<std::int64_t> busy_until_ns(static_cast<std::size_t>(workers), 0);
  std::size_t next = 0;
  for (std::int64_t now_ns = 0; next < count; ++now_ns) {
    for (std::int64_t& until_ns : busy_until_ns) {
      if (until_ns > now_ns || next == count || ready_ns[next] > now_ns) continue;
      simulation.starts[next] = now_ns;
      until_ns = now_ns + work_ns[next];
      simulation.items[next] = {ready_ns[next], until_ns};
      ++next;
    }
  }
  return simulation;
}

TEST(FifoQueue, FindsTheStartsOfSimulatedWorkers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const int workers = 1 + static_cast<int>(random() % 4);
    const Simulation simulation = simulate(random, workers);
    ASSERT_EQ(find_fifo_starts(simulation.items, workers), simulation.starts) << "round " << round;
  }
}

}  // namespace
}  // namespace ddpprof

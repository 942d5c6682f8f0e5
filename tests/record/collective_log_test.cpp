#include "profiler/record/collective_log.h"

#include <string>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

std::int64_t count_after_drain(CollectiveLog& log, std::size_t& ended_count) {
  std::vector<std::int64_t> given_up_ns;
  ended_count = log.drain(given_up_ns).size();
  return static_cast<std::int64_t>(given_up_ns.size());
}

TEST(CollectiveLog, KeepsTheOrderOfBegin) {
  CollectiveLog log;
  std::vector<CollectiveHandle> handles;
  for (int i = 0; i < 3000; ++i) handles.push_back(log.begin({.communicator = "g", .sequence = i}));
  for (auto handle = handles.rbegin(); handle != handles.rend(); ++handle) log.end(*handle);
  std::vector<std::int64_t> given_up_ns;
  const std::vector<Collective> collectives = log.drain(given_up_ns);
  ASSERT_EQ(collectives.size(), 3000u);
  EXPECT_TRUE(given_up_ns.empty());
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(collectives[static_cast<std::size_t>(i)].sequence, i);
}

TEST(CollectiveLog, GivesUpWhatHasNotEnded) {
  CollectiveLog log;
  log.begin({.communicator = "g"});
  log.end(log.begin({.communicator = "g"}));
  std::size_t ended_count = 0;
  EXPECT_EQ(count_after_drain(log, ended_count), 1);
  EXPECT_EQ(ended_count, 1u);
}

TEST(CollectiveLog, AHandleThatEndsAfterItWasGivenUpChangesNothing) {
  CollectiveLog log;
  const CollectiveHandle late = log.begin({.communicator = "g"});
  std::size_t ended_count = 0;
  EXPECT_EQ(count_after_drain(log, ended_count), 1);
  const CollectiveHandle next = log.begin({.communicator = "g"});
  log.end(late);
  log.end(next);
  EXPECT_EQ(count_after_drain(log, ended_count), 0);
  EXPECT_EQ(ended_count, 1u);
}

TEST(CollectiveLog, TheFirstEndCounts) {
  CollectiveLog log;
  const CollectiveHandle handle = log.begin({.communicator = "g"});
  log.end(handle);
  const std::int64_t after_ns = now_ns();
  log.end(handle);
  std::vector<std::int64_t> given_up_ns;
  const std::vector<Collective> collectives = log.drain(given_up_ns);
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_LE(collectives[0].span.end_ns, after_ns);
}

TEST(CollectiveLog, CopiesTheCommunicatorsName) {
  CollectiveLog log;
  std::string name = "gradients of a group with a long name";
  log.end(log.begin({.communicator = name}));
  name.assign(name.size(), 'x');
  std::vector<std::int64_t> given_up_ns;
  const std::vector<Collective> collectives = log.drain(given_up_ns);
  ASSERT_EQ(collectives.size(), 1u);
  EXPECT_EQ(log.communicator(collectives[0].communicator), "gradients of a group with a long name");
}

TEST(SmallNameTable, GivesEqualTextsOneIdAndRefusesMoreThanItHolds) {
  SmallNameTable table;
  for (std::uint32_t i = 0; i < SmallNameTable::kCapacity; ++i) {
    EXPECT_EQ(table.intern("group " + std::to_string(i)), i);
  }
  EXPECT_EQ(table.intern("one too many"), SmallNameTable::kCapacity);
  EXPECT_EQ(table.intern("group 7"), 7u);
  EXPECT_EQ(table.name(7), "group 7");
}

}  // namespace
}  // namespace ddpprof

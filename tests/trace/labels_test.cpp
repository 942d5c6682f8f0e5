#include "profiler/trace/labels.h"

#include <set>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

template <typename Enum, typename Names, typename Parse>
void expect_round_trip(const Names& names, Parse parse) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = static_cast<Enum>(i);
    EXPECT_EQ(to_string(value), names[i]);
    EXPECT_EQ(parse(names[i]), value);
    EXPECT_TRUE(seen.insert(names[i]).second) << names[i];
  }
}

TEST(Labels, EveryNameReadsBackAsItsEnumerator) {
  expect_round_trip<Activity>(kActivityNames, parse_activity);
  expect_round_trip<StallKind>(kStallKindNames, parse_stall_kind);
  expect_round_trip<Phase>(kPhaseNames, parse_phase);
}

TEST(Labels, SpellEnumeratorsAsTheCodeDoes) {
  EXPECT_EQ(to_string(Activity::communication), "communication");
  EXPECT_EQ(to_string(StallKind::latency), "latency");
  EXPECT_EQ(to_string(Phase::grad_reduce), "grad_reduce");
  EXPECT_EQ(to_string(Phase::graph), "graph");
}

TEST(Labels, UnknownTextNamesNothing) {
  EXPECT_FALSE(parse_activity("Compute"));
  EXPECT_FALSE(parse_stall_kind(""));
  EXPECT_FALSE(parse_phase("forward "));
}

}  // namespace
}  // namespace ddpprof

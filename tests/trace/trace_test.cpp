#include "profiler/trace/trace.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(NameTable, GivesEqualNamesOneIdInOrderOfFirstUse) {
  std::vector<std::string> names;
  NameTable table(names);
  EXPECT_EQ(table.intern("gemm"), NameId{0});
  EXPECT_EQ(table.intern("softmax"), NameId{1});
  EXPECT_EQ(table.intern("gemm"), NameId{0});
  EXPECT_EQ(names, (std::vector<std::string>{"gemm", "softmax"}));
}

TEST(NameTable, GoesOnFromNamesThatAreThereAlready) {
  std::vector<std::string> names{"gemm"};
  NameTable table(names);
  EXPECT_EQ(table.intern("gemm"), NameId{0});
  EXPECT_EQ(table.intern("copy"), NameId{1});
}

TEST(CollectiveKind, EveryNameReadsBack) {
  for (const std::string_view name : kCollectiveKindNames) {
    const auto kind = parse_collective_kind(name);
    ASSERT_TRUE(kind) << name;
    EXPECT_EQ(to_string(*kind), name);
  }
  EXPECT_EQ(to_string(CollectiveKind::barrier), "barrier");
  EXPECT_FALSE(parse_collective_kind("allreduce"));
}

}  // namespace
}  // namespace ddpprof

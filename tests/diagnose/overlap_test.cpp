// What hidden communication costs the kernels beside it: profiler/README.md, "Overlap".
#include "profiler/diagnose/timeline.h"
#include "tests/support/draw.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

std::optional<std::vector<std::int64_t>> contention_of(const std::vector<Row>& rows) {
  return find_timelines(draw(rows)).front().contention_ns;
}

using Values = std::vector<std::int64_t>;

TEST(Contention, IsWhatKernelsTakeLongerUnderCommunicationThanTheirTwinsElsewhere) {
  EXPECT_EQ(contention_of({steps("000000000000000000"),
                           work(Activity::compute, "##.###.####.#####.", {.name = "gemm"}),
                           work(Activity::communication, ".............#####", {.stream = 9})}),
            Values{2000})
      << "5 us against a median of 3 us";
}

TEST(Contention, AsksForTheSameName) {
  EXPECT_EQ(contention_of({steps("000000000000000000"),
                           work(Activity::compute, "###...............", {.name = "gemm"}),
                           work(Activity::compute, "....######........", {.name = "softmax"}),
                           work(Activity::compute, "...........####...", {.name = "gemm"}),
                           work(Activity::communication, ".....#......#.....", {.stream = 9})}),
            Values{1000})
      << "softmax has no twin and is left out";
}

TEST(Contention, GoesToTheStepTheKernelBeganIn) {
  EXPECT_EQ(contention_of({steps("000000111111"), calls("a.....b.c..."),
                           work(Activity::compute, ".aa....b.ccc"),
                           work(Activity::communication, ".#.......#..", {.stream = 9})}),
            (Values{1000, 2000}));
}

TEST(Contention, IsZeroWithoutCommunicationAndAbsentWithoutAnyTwin) {
  EXPECT_EQ(contention_of({steps("0000"), work(Activity::compute, "####")}), Values{0});
  EXPECT_EQ(contention_of({steps("0000"), work(Activity::compute, "####"),
                           work(Activity::communication, ".##.", {.stream = 9})}),
            std::nullopt);
}

TEST(Contention, IsAbsentOnThreads) {
  const Trace trace = draw_on_threads({steps("0000"), collectives(".##.")});
  EXPECT_FALSE(find_timelines(trace).front().contention_ns);
}

}  // namespace
}  // namespace ddpprof::test

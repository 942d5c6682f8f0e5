#include "trainers/common/sampler.h"

#include "profiler/trace/error.h"
#include "trainers/common/threads.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

using Samples = std::vector<std::int64_t>;

constexpr DeviceSlice kSingle{.first = 0, .count = 1, .total = 1};

TEST(Sampler, AnEpochHasEverySampleAtMostOnceAndDropsTheRest) {
  Sampler sampler(10, 3, 7);
  EXPECT_EQ(sampler.batches_per_epoch(), 3);
  std::set<std::int64_t> seen;
  for (std::int64_t step = 0; step < 3; ++step) {
    for (const std::int64_t sample : sampler.micro_batch(step, 0, 1, kSingle)) {
      EXPECT_TRUE(sample >= 0 && sample < 10);
      EXPECT_TRUE(seen.insert(sample).second) << sample << " came twice";
    }
  }
  EXPECT_EQ(seen.size(), 9U);
}

TEST(Sampler, EpochsAreShuffledDifferently) {
  Sampler sampler(100, 100, 7);
  const Samples first = sampler.micro_batch(0, 0, 1, kSingle);
  const Samples second = sampler.micro_batch(1, 0, 1, kSingle);
  EXPECT_NE(first, second);
  EXPECT_EQ(sampler.micro_batch(0, 0, 1, kSingle), first) << "also when asked again";
}

TEST(Sampler, TheSeedAloneDecidesTheOrder) {
  Sampler a(100, 10, 7);
  Sampler b(100, 10, 7);
  Sampler other(100, 10, 8);
  EXPECT_EQ(a.micro_batch(3, 0, 1, kSingle), b.micro_batch(3, 0, 1, kSingle));
  EXPECT_NE(a.micro_batch(3, 0, 1, kSingle), other.micro_batch(3, 0, 1, kSingle));
}

TEST(Sampler, RanksGetContiguousEqualPartsOfTheGlobalBatch) {
  Sampler sampler(100, 12, 7);
  const Samples batch = sampler.micro_batch(2, 0, 1, kSingle);
  Samples joined;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const Samples part = sampler.micro_batch(2, 0, 1, {.first = rank, .count = 1, .total = 3});
    EXPECT_EQ(part.size(), 4U);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, batch);
}

TEST(Sampler, ReplicaAndRankSeeTheSameSamplesInEveryMicroStep) {
  Sampler sampler(100, 12, 7);
  for (std::int64_t micro_step = 0; micro_step < 2; ++micro_step) {
    const Samples all = sampler.micro_batch(0, micro_step, 2, {.first = 0, .count = 3, .total = 3});
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      const Samples part =
          sampler.micro_batch(0, micro_step, 2, {.first = rank, .count = 1, .total = 3});
      EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + rank * 2));
    }
  }
}

TEST(Sampler, MicroStepsTogetherAreTheBatch) {
  Sampler sampler(100, 12, 7);
  Samples joined;
  for (std::int64_t micro_step = 0; micro_step < 4; ++micro_step) {
    const Samples part = sampler.micro_batch(1, micro_step, 4, kSingle);
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, sampler.micro_batch(1, 0, 1, kSingle));
}

TEST(Sampler, RefusesABatchLargerThanTheDataSet) { EXPECT_THROW(Sampler(10, 11, 0), UsageError); }

TEST(Sampler, RefusesPartsThatAreNotEqual) {
  Sampler sampler(100, 10, 0);
  EXPECT_THROW(sampler.micro_batch(0, 0, 1, {.first = 0, .count = 1, .total = 3}),
               std::logic_error);
}

TEST(BatchDivision, SaysWhichBatchesWouldDo) {
  try {
    check_batch_divides(64, 3, 2);
    FAIL() << "64 does not divide by 6";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.hint, "take --batch 60 or --batch 66");
  }
  EXPECT_NO_THROW(check_batch_divides(66, 3, 2));
}

TEST(BatchDivision, NeverProposesAnEmptyBatch) {
  try {
    check_batch_divides(2, 3, 1);
    FAIL() << "2 does not divide by 3";
  } catch (const UsageError& error) {
    EXPECT_EQ(error.hint, "take --batch 3");
  }
}

TEST(Threads, DevicesShareTheCores) {
  EXPECT_EQ(default_threads(8, 2), 4);
  EXPECT_EQ(default_threads(2, 3), 1);
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace ddpprof::test

#include "trainers/common/loader.h"

#include "profiler/record/clocks.h"
#include "profiler/trace/error.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::int64_t kBatch = 12;
constexpr std::int64_t kMicroSteps = 2;
constexpr std::int64_t kSamples = 100;
constexpr std::int64_t kSteps = 30;  // over three epochs

TrainOptions make_options(std::int64_t threads) {
  TrainOptions options;
  options.batch = kBatch;
  options.micro_steps = kMicroSteps;
  options.loader.threads = threads;
  return options;
}

// Whose samples are their own numbers.
DataSet numbers() {
  return {.samples_count = kSamples, .fetch = [](std::span<const std::int64_t> samples) {
            const at::Tensor tensor =
                at::tensor(at::ArrayRef(samples.data(), samples.size()), at::kLong);
            return Batch{.inputs = {tensor}, .target = tensor};
          }};
}

std::vector<std::int64_t> numbers_in(const Batch& batch) {
  const auto* begin = batch.inputs.at(0).data_ptr<std::int64_t>();
  return {begin, begin + batch.inputs[0].numel()};
}

constexpr DeviceSlice kSlices[] = {{.first = 0, .count = 1, .total = 1},   // single
                                   {.first = 0, .count = 3, .total = 3},   // dp
                                   {.first = 2, .count = 1, .total = 3}};  // ddp

class Threads : public testing::TestWithParam<int> {};

TEST_P(Threads, GiveEachMicroStepItsSamples) {
  const TrainOptions options = make_options(GetParam());
  const DataSet data = numbers();
  for (const DeviceSlice& slice : kSlices) {
    Loader loader(data, options, slice, at::kCPU);
    Sampler sampler(kSamples, kBatch, 0);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      for (std::int64_t micro_step = 0; micro_step < kMicroSteps; ++micro_step) {
        EXPECT_EQ(numbers_in(loader.take(step, micro_step)),
                  sampler.micro_batch(step, micro_step, kMicroSteps, slice));
      }
    }
  }
}

TEST_P(Threads, MayBeginAndGoOnAnywhere) {
  const TrainOptions options = make_options(GetParam());
  const DataSet data = numbers();
  Loader loader(data, options, kSlices[0], at::kCPU);
  Sampler sampler(kSamples, kBatch, 0);
  for (const std::int64_t step : {20, 21, 7, 7, 40, 0}) {
    EXPECT_EQ(numbers_in(loader.take(step, 1)), sampler.micro_batch(step, 1, 2, kSlices[0]));
  }
}

TEST_P(Threads, ThrowWhatFetchingThrew) {
  const TrainOptions options = make_options(GetParam());
  DataSet data = numbers();
  std::atomic<int> calls = 0;
  data.fetch = [&, fetch = data.fetch](std::span<const std::int64_t> samples) {
    if (++calls == 4) throw Error("disk", "is on fire", "put it out");
    return fetch(samples);
  };
  Loader loader(data, options, kSlices[0], at::kCPU);
  try {
    for (std::int64_t step = 0; step < 4; ++step) {
      loader.take(step, 0);
      loader.take(step, 1);
    }
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "disk");
    EXPECT_EQ(error.problem, "is on fire");
    EXPECT_EQ(error.hint, "put it out");
  }
}

INSTANTIATE_TEST_SUITE_P(Loader, Threads, testing::Values(0, 1, 3));

TEST(Loader, FetchesNothingBeforeItIsAsked) {
  const TrainOptions options = make_options(2);
  DataSet data = numbers();
  std::atomic<int> calls = 0;
  data.fetch = [&, fetch = data.fetch](std::span<const std::int64_t> samples) {
    ++calls;
    return fetch(samples);
  };
  {
    const Loader loader(data, options, kSlices[0], at::kCPU);
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(calls, 0);
}

TEST(Loader, FetchesWithOneIntraOpThreadAndLeavesTheOthersTheirs) {
  const TrainOptions options = make_options(3);
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  DataSet data = numbers();
  std::mutex mutex;
  std::set<int> counts;
  std::set<std::thread::id> threads;
  data.fetch = [&, fetch = data.fetch](std::span<const std::int64_t> samples) {
    const std::lock_guard lock(mutex);
    counts.insert(at::get_num_threads());
    threads.insert(std::this_thread::get_id());
    return fetch(samples);
  };
  int later = 0;
  {
    Loader loader(data, options, kSlices[0], at::kCPU);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      loader.take(step, 0);
      loader.take(step, 1);
    }
    std::jthread([&] { later = at::get_num_threads(); });
  }
  EXPECT_EQ(counts, std::set<int>{1});
  EXPECT_FALSE(threads.contains(std::this_thread::get_id()));
  EXPECT_EQ(at::get_num_threads(), 2);
  EXPECT_EQ(later, 2) << "of a thread made afterwards, as dp's are";
  at::set_num_threads(before);
}

// Of the thread that takes, in CPU time: what else runs here does not matter.
std::int64_t cpu_of_taking_ns(std::int64_t threads, std::int64_t cost_ns) {
  TrainOptions options = make_options(threads);
  options.loader.cost_ns = cost_ns;
  const DataSet data = numbers();
  Loader loader(data, options, kSlices[0], at::kCPU);
  loader.take(0, 0);
  loader.take(0, 1);
  const std::int64_t begin_ns = thread_cpu_ns();
  for (std::int64_t step = 1; step <= 5; ++step) {
    loader.take(step, 0);
    loader.take(step, 1);
  }
  return thread_cpu_ns() - begin_ns;
}

TEST(Loader, MakesEachSampleCostWhatIsAsked) {
  constexpr std::int64_t kCost_ns = 200'000;
  constexpr std::int64_t kAsked_ns = 5 * kBatch * kCost_ns;  // 12 ms
  const std::int64_t free_ns = cpu_of_taking_ns(0, 0);
  const std::int64_t own_ns = cpu_of_taking_ns(0, kCost_ns);
  EXPECT_GE(own_ns, kAsked_ns);
  EXPECT_LE(own_ns, kAsked_ns * 11 / 10 + free_ns);
  EXPECT_LE(cpu_of_taking_ns(2, kCost_ns), kAsked_ns / 4) << "waiting costs the thread little";
}

// The first batch fails while the others cost hours.
TEST(Loader, EndsInTheMiddleOfAnExpensiveBatch) {
  TrainOptions options = make_options(3);
  options.loader.cost_ns = 600'000'000'000;
  const std::vector<std::int64_t> first =
      Sampler(kSamples, kBatch, 0).micro_batch(0, 0, kMicroSteps, kSlices[0]);
  DataSet data = numbers();
  std::atomic<int> calls = 0;
  data.fetch = [&, fetch = data.fetch](std::span<const std::int64_t> samples) {
    ++calls;
    if (std::ranges::equal(samples, first)) {
      while (calls < 3) std::this_thread::yield();
      throw Error("disk", "is on fire");
    }
    return fetch(samples);
  };
  Loader loader(data, options, kSlices[0], at::kCPU);
  EXPECT_THROW(loader.take(0, 0), Error);
}

}  // namespace
}  // namespace ddpprof::test

// Which kernel carries which collective.
#include "profiler/record/device_trace.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr std::uint32_t kMain = 100, kAutograd = 200;
constexpr std::int64_t kMainStream = 7, kCommunicationStream = 20;

struct Machine {
  Trace trace;
  std::unordered_map<std::uint32_t, CollectiveLaunch> launches;

  Machine() {
    trace.threads.resize(2);
    trace.threads[0].system_id = kMain;
    trace.threads[1].system_id = kAutograd;
  }
  void run(std::uint32_t thread, std::int64_t launched_ns, Span span, Activity activity,
           std::int32_t device = 0, std::int64_t bytes = 0) {
    const auto correlation = static_cast<std::int64_t>(trace.work.size()) + 1;
    trace.calls.push_back({.span = {launched_ns, launched_ns + 1},
                           .thread = {thread == kMain ? 0U : 1U},
                           .name = {},
                           .correlation = correlation});
    trace.work.push_back(
        {.span = span,
         .device = device,
         .stream = activity == Activity::compute ? kMainStream : kCommunicationStream,
         .activity = activity,
         .name = {},
         .correlation = correlation,
         .bytes = bytes});
  }
  std::vector<CollectiveTimes> find(std::uint32_t count, bool has_losses = false) const {
    std::vector<CollectiveTimes> times;
    for (std::uint32_t i = 0; i < count; ++i) times.push_back({.index = i});
    find_carriers(trace, launches, has_losses, times);
    return times;
  }
};

TEST(Carriers, AreTheKernelsThatTheThreadLaunchedMeanwhile) {
  Machine machine;
  machine.run(kAutograd, 10, {20, 50}, Activity::compute);
  machine.run(kAutograd, 32, {60, 90}, Activity::communication);
  machine.run(kMain, 33, {200, 210}, Activity::communication);           // another thread's
  machine.run(kAutograd, 34, {210, 220}, Activity::communication, 1);    // another device's
  machine.run(kAutograd, 35, {40, 45}, Activity::communication, 0, 64);  // a copy
  machine.run(kAutograd, 50, {100, 120}, Activity::communication);       // later
  machine.launches[0] = {.device = 0, .thread = kAutograd, .begin_ns = 31, .end_ns = 40};
  const auto times = machine.find(1);
  EXPECT_EQ(times[0].work, 1u);
  EXPECT_EQ(times[0].ready_ns, 50) << "the main stream was at it until then";
  EXPECT_EQ(times[0].start_ns, 60);
  EXPECT_EQ(times[0].end_ns, 90);
  EXPECT_FALSE(times[0].lost);
}

TEST(Carriers, AreReadyWhenBegunWhereTheMainStreamIsIdle) {
  Machine machine;
  machine.run(kMain, 10, {12, 15}, Activity::compute);
  machine.run(kMain, 31, {60, 90}, Activity::communication);
  machine.run(kMain, 40, {41, 300}, Activity::compute);  // launched later
  machine.launches[0] = {.device = 0, .thread = kMain, .begin_ns = 30, .end_ns = 35};
  EXPECT_EQ(machine.find(1)[0].ready_ns, 30);
}

TEST(Carriers, AreNeverReadyAfterTheirStart) {
  Machine machine;
  machine.run(kMain, 10, {12, 100}, Activity::compute);
  machine.run(kMain, 31, {60, 90}, Activity::communication);  // waited for less than the stream
  machine.launches[0] = {.device = 0, .thread = kMain, .begin_ns = 30, .end_ns = 35};
  EXPECT_EQ(machine.find(1)[0].ready_ns, 60);
}

// As a coalesced broadcast launches them: all chunks and devices between two times.
TEST(Carriers, OfOneLaunchAreGivenInOrderADevice) {
  Machine machine;
  for (std::int64_t chunk = 0; chunk < 2; ++chunk) {
    for (const std::int32_t device : {0, 1}) {
      machine.run(kMain, 10 + 2 * chunk + device,
                  {100 * (chunk + 1) + device, 100 * (chunk + 1) + 50}, Activity::communication,
                  device);
    }
  }
  for (std::uint32_t i = 0; i < 4; ++i) {
    machine.launches[i] = {
        .device = static_cast<std::int32_t>(i % 2), .thread = kMain, .begin_ns = 5, .end_ns = 30};
  }
  const auto times = machine.find(4);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(times[i].work, i);
}

TEST(Carriers, AreMissingWhereNothingMovesOrRecordsWereLost) {
  Machine machine;
  machine.launches[0] = {.device = 0, .thread = kMain, .begin_ns = 30, .end_ns = 35};
  const auto times = machine.find(2);
  EXPECT_FALSE(times[0].lost) << "one rank alone moves nothing";
  EXPECT_FALSE(times[0].work);
  EXPECT_EQ(times[0].start_ns, 30);
  EXPECT_EQ(times[0].end_ns, 30);
  EXPECT_TRUE(times[1].lost) << "nobody saw its launch";
  EXPECT_TRUE(machine.find(1, /*has_losses=*/true)[0].lost);
}

TEST(Carriers, NeedTheEndOfTheLaunch) {
  Machine machine;
  machine.run(kMain, 31, {60, 90}, Activity::communication);
  machine.launches[0] = {.device = 0, .thread = kMain, .begin_ns = 30, .end_ns = 0};
  EXPECT_FALSE(machine.find(1)[0].work);
}

}  // namespace
}  // namespace ddpprof

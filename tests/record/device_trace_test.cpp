// What becomes of a device profiler's records.
#include "profiler/record/device_trace.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr std::uint32_t kMain = 100;

// Records made by hand: calls and the work they launched.
struct Recorded {
  DeviceRecording recording{.records = {},
                            .ordinals = {0},
                            .probes = {},
                            .losses = {},
                            .captured_phases = {},
                            .thread_names = {}};
  std::int64_t correlation = 0;

  std::int64_t call(Span span, std::uint32_t thread = kMain,
                    std::string_view name = "cudaLaunchKernel") {
    recording.records.calls.push_back({.span = span,
                                       .thread = thread,
                                       .name = recording.records.intern(name),
                                       .correlation = ++correlation});
    return correlation;
  }
  DeviceOperation& work(Span span, std::int64_t launched_by, std::string_view name = "kernel") {
    recording.records.operations.push_back({.span = span,
                                            .ordinal = 0,
                                            .stream = 7,
                                            .activity = Activity::compute,
                                            .name = recording.records.intern(name),
                                            .correlation = launched_by});
    return recording.records.operations.back();
  }
};

Thread thread_of(std::int64_t system_id, Span life, std::string name,
                 std::optional<std::int32_t> replica = {}) {
  return {.system_id = system_id,
          .life = life,
          .name = std::move(name),
          .is_main = system_id == kMain,
          .replica = replica};
}

Trace trace_of_steps(std::vector<Span> spans) {
  Trace trace;
  trace.threads = {thread_of(kMain, {0, 1'000'000}, "main")};
  for (const Span span : spans) {
    trace.steps.push_back({.index = static_cast<std::int64_t>(trace.steps.size()), .span = span});
  }
  return trace;
}

std::vector<bool> losses_of(const Recorded& recorded, std::vector<Span> steps) {
  Trace trace = trace_of_steps(std::move(steps));
  append_recording(recorded.recording, trace);
  std::vector<bool> losses;
  for (const Step& step : trace.steps) losses.push_back(step.has_losses);
  return losses;
}

TEST(DeviceTrace, HasTheWorkWithItsLaunchOnItsThread) {
  Recorded recorded;
  recorded.recording.ordinals = {3, 1};
  recorded.work({20, 30}, recorded.call({10, 15}), "_ZN2at6native4copyEv").ordinal = 1;
  const std::int64_t wait = recorded.call({16, 40}, kMain, "cudaStreamSynchronize");
  recorded.recording.records.synchronizing.push_back(wait);
  recorded.work({1, 2}, 99).ordinal = 2;  // no device of this process
  Trace trace = trace_of_steps({});
  append_recording(recorded.recording, trace);
  ASSERT_EQ(trace.work.size(), 1u);
  EXPECT_EQ(trace.work[0].span, (Span{20, 30}));
  EXPECT_EQ(trace.work[0].device, 1) << "a position, not CUDA's number";
  EXPECT_EQ(trace.names[trace.work[0].name.index], "at::native::copy()");
  EXPECT_FALSE(trace.work[0].captured_phase);
  ASSERT_EQ(trace.calls.size(), 2u);
  EXPECT_EQ(trace.calls[0].correlation, trace.work[0].correlation);
  EXPECT_FALSE(trace.calls[0].synchronizes);
  EXPECT_EQ(trace.calls[0].thread.index, 0u);
  EXPECT_EQ(trace.calls[1].correlation, 0) << "it launched nothing";
  EXPECT_TRUE(trace.calls[1].synchronizes);
  EXPECT_EQ(trace.threads.size(), 1u);
}

TEST(DeviceTrace, TellsThreadsWithOneIdApartByTheirLives) {
  Recorded recorded;
  recorded.call({15, 16}, 200);
  recorded.call({55, 56}, 200);
  Trace trace = trace_of_steps({});
  trace.threads.push_back(thread_of(200, {10, 20}, "replica 0", 0));
  trace.threads.push_back(thread_of(200, {50, 60}, "replica 1", 1));
  append_recording(recorded.recording, trace);
  ASSERT_EQ(trace.calls.size(), 2u);
  EXPECT_EQ(trace.calls[0].thread.index, 1u);
  EXPECT_EQ(trace.calls[1].thread.index, 2u);
}

TEST(DeviceTrace, MakesThreadsThatOnlyLaunchAndNamesThem) {
  Recorded recorded;
  recorded.recording.thread_names = {{300, "pt_autograd_0"}, {kMain, "ddpprof"}};
  recorded.call({70, 75}, 300);
  recorded.call({20, 25}, 300);
  recorded.call({30, 31}, kMain);
  Trace trace = trace_of_steps({});
  // Known by its scopes, from the first one on.
  trace.threads.push_back(thread_of(400, {50, 60}, "thread 400"));
  recorded.call({40, 41}, 400);
  append_recording(recorded.recording, trace);
  ASSERT_EQ(trace.threads.size(), 3u);
  EXPECT_EQ(trace.threads[0].name, "main");
  EXPECT_EQ(trace.threads[1].life, (Span{40, 60})) << "it lived before its first scope";
  EXPECT_EQ(trace.threads[2].name, "pt_autograd_0");
  EXPECT_EQ(trace.threads[2].life, (Span{20, 76}));
  EXPECT_TRUE(std::ranges::is_sorted(trace.calls, {}, &Call::span));
}

TEST(DeviceTrace, GivesPartsOfAGraphThePhaseOfTheirCapture) {
  Recorded recorded;
  recorded.recording.captured_phases = {{11, Phase::backward}};
  const std::int64_t launch = recorded.call({1, 2}, kMain, "cudaGraphLaunch");
  recorded.work({10, 20}, launch).graph_node = 11;
  recorded.work({20, 30}, launch).graph_node = 12;
  Trace trace = trace_of_steps({});
  append_recording(recorded.recording, trace);
  ASSERT_EQ(trace.work.size(), 2u);
  EXPECT_EQ(trace.work[0].captured_phase, Phase::backward);
  EXPECT_EQ(trace.work[1].captured_phase, Phase::graph) << "nobody saw its capture";
}

TEST(DeviceTrace, AddsUpDropsOverheadsAndWhatWasNotFinished) {
  Recorded recorded;
  recorded.recording.losses.count = 5;
  recorded.recording.records.overheads_ns = {{"CUPTI buffer flush", 70}};
  recorded.recording.records.incomplete_count = 2;
  Trace trace = trace_of_steps({});
  trace.info.dropped_records = 1;
  append_recording(recorded.recording, trace);
  EXPECT_EQ(trace.info.dropped_records, 6);
  EXPECT_EQ(trace.info.collector_overheads_ns.at("CUPTI buffer flush"), 70);
  ASSERT_EQ(trace.issues.size(), 1u);
  EXPECT_EQ(trace.issues[0].code, "device-record-incomplete");
  EXPECT_EQ(trace.issues[0].count, 2);
}

TEST(DeviceTrace, KnowsFromProbesHowFarTheClocksMayBeApart) {
  Recorded recorded;
  // Between host and device times lie 4 before and 10 after, and 7 before and 6 after.
  for (const auto& [host, work] :
       {std::pair{Span{100, 120}, Span{104, 110}}, std::pair{Span{200, 220}, Span{207, 214}}}) {
    recorded.recording.probes.push_back(
        {.recording = 0, .ordinal = 0, .thread = kMain, .host = host});
    recorded.work(work, recorded.call({host.begin_ns + 1, host.begin_ns + 3}));
    recorded.call({host.begin_ns + 4, host.end_ns}, kMain, "cudaStreamSynchronize");
  }
  recorded.work({300, 310}, recorded.call({290, 295}));
  Trace trace = trace_of_steps({});
  append_recording(recorded.recording, trace);
  EXPECT_EQ(trace.info.device_clock_uncertainty_ns, 6) << "-4 <= d and d <= 6";
  EXPECT_EQ(trace.work.size(), 1u) << "probes are none of the training's work";
  EXPECT_EQ(trace.calls.size(), 1u);
  recorded.recording.probes.back().recording = 1;
  EXPECT_EQ(find_clock_uncertainty(recorded.recording), 10) << "4 and 10, then 7 and 6";
  recorded.recording.probes.clear();
  EXPECT_FALSE(find_clock_uncertainty(recorded.recording));
}

TEST(Losses, AreNoneWhereNothingWasDropped) {
  Recorded recorded;
  recorded.call({5, 6});  // its work is missing, which may have many reasons
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}}), (std::vector<bool>{false, false}));
}

TEST(Losses, AreInTheStepsOfAPeriodWithoutRoom) {
  Recorded recorded;
  recorded.recording.losses.periods = {{12, 13}};
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}, {20, 30}}),
            (std::vector<bool>{false, true, false}));
}

TEST(Losses, AreWhereALaunchHasNoWork) {
  Recorded recorded;
  recorded.recording.losses.count = 1;
  recorded.work({16, 17}, recorded.call({5, 6}));
  recorded.call({25, 26});
  recorded.call({1, 2}, kMain, "cudaMemcpyAsync");  // of nothing
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}, {20, 30}}),
            (std::vector<bool>{false, false, true}));
}

TEST(Losses, AreWhereWorkHasNoLaunchOrInTheStepBefore) {
  Recorded recorded;
  recorded.recording.losses.count = 1;
  recorded.work({25, 26}, 77);
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}, {20, 30}, {30, 40}}),
            (std::vector<bool>{false, true, true, false}));
}

TEST(Losses, AreWhereRecordsWereNotFinishedOrTheProfilerFailed) {
  Recorded recorded;
  recorded.work({16, 17}, recorded.call({5, 6}));
  recorded.call({15, 16});
  recorded.recording.records.incomplete_count = 1;
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}}), (std::vector<bool>{false, true}));
  recorded.recording.has_failed = true;
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}}), (std::vector<bool>{true, true}));
}

TEST(DeviceTrace, KnowsThatCopiesBetweenDevicesHoldNobodyUp) {
  Recorded recorded;
  for (const char* name : {"Memcpy DtoD (Device -> Device)", "Memcpy HtoD (Pinned -> Device)"}) {
    const std::int64_t call = recorded.call({1, 2}, kMain, "cudaMemcpy");
    recorded.recording.records.synchronizing.push_back(call);
    recorded.work({5, 6}, call, name);
  }
  Trace trace = trace_of_steps({});
  append_recording(recorded.recording, trace);
  ASSERT_EQ(trace.calls.size(), 2u);
  EXPECT_FALSE(trace.calls[0].synchronizes);
  EXPECT_TRUE(trace.calls[1].synchronizes);
}

TEST(Losses, AreEverywhereWhenNobodyKnowsWhere) {
  Recorded recorded;
  recorded.recording.losses.count = 1;
  recorded.work({16, 17}, recorded.call({5, 6}));
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}}), (std::vector<bool>{true, true}));
  recorded.recording.losses = {.count = 1, .periods = {{1, 2}}, .has_more_periods = true};
  EXPECT_EQ(losses_of(recorded, {{0, 10}, {10, 20}}), (std::vector<bool>{true, true}));
}

}  // namespace
}  // namespace ddpprof

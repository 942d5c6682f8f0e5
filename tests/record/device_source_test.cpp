// What a recorder and its device source say to each other.
#include "profiler/record/device_source.h"

#include "profiler/record/recorder.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// A source that delivers two kernels in the wrong order and hangs the second on a collective.
struct FakeSource : DeviceSource {
  explicit FakeSource(std::vector<std::string>& log) : calls(log) {}
  std::string_view recorder() const noexcept override { return "fake"; }
  bool sees_work() const noexcept override { return true; }
  void start() noexcept override { calls.emplace_back("start"); }
  void stop() noexcept override { calls.emplace_back("stop"); }
  void collect(Trace& trace) noexcept override {
    calls.emplace_back("collect");
    NameTable names(trace.names);
    const NameId name = names.intern("kernel");
    trace.work.push_back({.span = {20, 30}, .name = name});
    trace.work.push_back({.span = {10, 15}, .name = name});
    trace.calls.push_back({.span = {5, 6}, .thread = {}, .name = name});
    trace.calls.push_back({.span = {1, 2}, .thread = {}, .name = name});
    trace.info.dropped_records += 2;
  }
  void date_collectives(const Trace& trace,
                        std::span<CollectiveTimes> collectives) noexcept override {
    calls.emplace_back("date");
    collectives.front() = {.ready_ns = 12,
                           .start_ns = trace.work.front().span.begin_ns,
                           .end_ns = trace.work.front().span.end_ns,
                           .work = 0};
  }
  std::vector<std::string>& calls;
};

TEST(Recorder, MovesTheDeviceSourcesRecordsIn) {
  std::vector<std::string> calls;
  Recorder recorder({.service_threads = 1}, std::make_unique<FakeSource>(calls));
  recorder.start(0);
  recorder.end_collective(recorder.begin_collective({.communicator = "g"}));
  recorder.stop();
  const Trace trace = recorder.take({});
  EXPECT_EQ(calls, (std::vector<std::string>{"start", "stop", "collect", "date"}));
  ASSERT_EQ(trace.work.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(trace.work, {}, &Work::span));
  EXPECT_TRUE(std::ranges::is_sorted(trace.calls, {}, &Call::span));
  ASSERT_EQ(trace.collectives.size(), 1u);
  EXPECT_EQ(trace.collectives[0].work, 1u) << "the index follows the sorting";
  EXPECT_EQ(trace.collectives[0].ready_ns, 12);
  EXPECT_EQ(trace.collectives[0].span, (Span{20, 30})) << "as the source saw it, in no queue";
  EXPECT_EQ(trace.info.recorder, "fake");
  EXPECT_EQ(trace.info.dropped_records, 2);
}

// Writes down what it hears, and dates collectives: the first is lost, the others last 5 ns.
struct ListeningSource : DeviceSource {
  ListeningSource(std::vector<std::string>& log, bool always)
      : calls(log), listens_always(always) {}
  std::string_view recorder() const noexcept override { return kEventRecorder; }
  bool annotates() const noexcept override { return listens_always; }
  void start() noexcept override {}
  void stop() noexcept override {}
  void collect(Trace& /*trace*/) noexcept override {}
  void date_collectives(const Trace& /*trace*/,
                        std::span<CollectiveTimes> collectives) noexcept override {
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const auto ready_ns = static_cast<std::int64_t>(100 * i);
      collectives[i].ready_ns = collectives[i].start_ns = ready_ns;
      collectives[i].end_ns = ready_ns + 5;
      collectives[i].lost = i == 0;
    }
  }
  void begin_step(std::int64_t index, bool recorded) noexcept override {
    calls.push_back("step " + std::to_string(index) + (recorded ? " recorded" : ""));
  }
  void end_step() noexcept override { calls.emplace_back("end of step"); }
  void begin_scope(const HostScope& scope) noexcept override {
    calls.push_back(std::string(scope.name) +
                    (scope.replica ? " of " + std::to_string(*scope.replica) : "") +
                    (scope.recorded ? " recorded" : "") + (scope.brief ? " briefly" : ""));
  }
  void end_scope() noexcept override { calls.emplace_back("end of scope"); }
  void change_phase(Phase phase) noexcept override { calls.emplace_back(to_string(phase)); }
  void begin_collective(std::uint32_t index, std::int32_t device) noexcept override {
    calls.push_back("collective " + std::to_string(index) + " on " + std::to_string(device));
  }
  void end_launch(std::uint32_t index) noexcept override {
    calls.push_back("launched " + std::to_string(index));
  }
  void end_collective(std::uint32_t index, void* stream) noexcept override {
    calls.push_back("end of collective " + std::to_string(index) + (stream == this ? " here" : ""));
  }
  std::vector<std::string>& calls;
  bool listens_always;
};

void run_scope(Recorder& recorder) {
  recorder.begin_step(7);
  {
    const PhaseScope scope(recorder, Phase::forward, "forward");
    recorder.change_phase(Phase::all_reduce);
    std::jthread([&] {
      const ThreadScope thread(recorder, "replica 1", false, 1);
      const PhaseScope inner(recorder, Phase::forward, "inner");
    }).join();
  }
  recorder.end_step();
}

TEST(Recorder, TellsTheDeviceSourceOfStepsAndScopes) {
  std::vector<std::string> calls;
  Recorder recorder({}, std::make_unique<ListeningSource>(calls, false));
  run_scope(recorder);
  EXPECT_EQ(calls, std::vector<std::string>{}) << "nothing is recorded";
  EXPECT_FALSE(recorder.hears_scopes());
  recorder.start(0);
  EXPECT_TRUE(recorder.hears_scopes());
  {
    const PhaseScope between(recorder, Phase::data, "between steps");
  }
  run_scope(recorder);
  recorder.stop();
  EXPECT_EQ(calls,
            (std::vector<std::string>{"between steps", "end of scope", "step 7 recorded",
                                      "forward recorded", "all_reduce", "inner of 1 recorded",
                                      "end of scope", "end of scope", "end of step"}));
  EXPECT_EQ(recorder.take({}).scopes.size(), 3u);
}

TEST(Recorder, TellsASourceThatAnnotatesWhileOffToo) {
  std::vector<std::string> calls;
  Recorder recorder({}, std::make_unique<ListeningSource>(calls, true));
  const std::vector<std::string> off = {"step 7",       "forward",      "inner of 1",
                                        "end of scope", "end of scope", "end of step"};
  run_scope(recorder);
  EXPECT_EQ(calls, off);
  EXPECT_TRUE(recorder.hears_scopes());
  EXPECT_FALSE(recorder.is_on());
  recorder.start(0);
  recorder.stop();
  calls.clear();
  run_scope(recorder);
  EXPECT_EQ(calls, off) << "after a recording as before it";
  EXPECT_EQ(recorder.take({}).scopes.size(), 0u);
}

TEST(Recorder, TakesCollectiveTimesFromTheDeviceSource) {
  std::vector<std::string> calls;
  auto source = std::make_unique<ListeningSource>(calls, false);
  void* const stream = source.get();
  Recorder recorder({}, std::move(source));
  recorder.start(0);
  for (int i = 0; i < 3; ++i) {
    recorder.end_collective(recorder.begin_collective({.communicator = "g", .sequence = i}),
                            stream);
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.collectives.size(), 2u);
  EXPECT_EQ(trace.collectives[0].sequence, 1);
  EXPECT_EQ(trace.collectives[0].ready_ns, 100);
  EXPECT_EQ(trace.collectives[0].span, (Span{100, 105}));
  EXPECT_EQ(trace.info.dropped_records, 1);
  EXPECT_EQ(calls.front(), "collective 0 on 0");
  EXPECT_EQ(calls.back(), "end of collective 2 here");
}

TEST(Recorder, TellsTheDeviceSourceWhatIsBriefAndWhatIsLaunched) {
  std::vector<std::string> calls;
  Recorder recorder({}, std::make_unique<ListeningSource>(calls, false));
  recorder.end_launch(recorder.begin_collective({.communicator = "g"}));
  EXPECT_TRUE(calls.empty()) << "nothing is recorded";
  recorder.start(0);
  recorder.begin_scope(Phase::bucket_copy, "copy", {.brief = true});
  recorder.end_launch(recorder.begin_collective({.communicator = "g"}));
  recorder.end_scope();
  EXPECT_EQ(calls, (std::vector<std::string>{"copy briefly", "collective 0 on 0", "launched 0",
                                             "end of scope"}));
}

TEST(Recorder, KeepsACollectiveThatNeedsItsWorkOnlyWhereWorkIsSeen) {
  std::vector<std::string> calls;
  Recorder blind({}, std::make_unique<ListeningSource>(calls, false));
  blind.start(0);
  EXPECT_EQ(blind.begin_collective({.communicator = "g", .needs_work = true}).index,
            CollectiveHandle{}.index);
  Recorder seeing({}, std::make_unique<FakeSource>(calls));
  seeing.start(0);
  EXPECT_EQ(seeing.begin_collective({.communicator = "g", .needs_work = true}).index, 0u);
}

// One collective that ends but has no time, and one that never ends, each in a step of its own.
TEST(Recorder, MarksTheStepsInWhichCollectivesWereLost) {
  std::vector<std::string> calls;
  Recorder recorder({}, std::make_unique<ListeningSource>(calls, false));
  recorder.start(0);
  for (std::int64_t step = 0; step < 3; ++step) {
    recorder.begin_step(step);
    const CollectiveHandle handle = recorder.begin_collective({.communicator = "g"});
    if (step != 2) recorder.end_collective(handle);
    recorder.end_step();
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.steps.size(), 3u);
  EXPECT_TRUE(trace.steps[0].has_losses);
  EXPECT_FALSE(trace.steps[1].has_losses);
  EXPECT_TRUE(trace.steps[2].has_losses);
  EXPECT_EQ(trace.info.dropped_records, 2);
}

// Deeper than a thread's log goes.
TEST(Recorder, MarksTheStepsInWhichScopesWereDropped) {
  Recorder recorder({}, nullptr);
  recorder.start(0);
  for (std::int64_t step = 0; step < 2; ++step) {
    recorder.begin_step(step);
    const int depth = step == 0 ? 65 : 64;
    for (int i = 0; i < depth; ++i) recorder.begin_scope(Phase::forward, "deep", {});
    for (int i = 0; i < depth; ++i) recorder.end_scope();
    recorder.end_step();
  }
  recorder.stop();
  const Trace trace = recorder.take({});
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_TRUE(trace.steps[0].has_losses);
  EXPECT_FALSE(trace.steps[1].has_losses);
  EXPECT_EQ(trace.info.recorder, kHostRecorder);
}

TEST(DeviceSource, ThereIsNoneWithoutADevice) {
  EXPECT_EQ(make_device_source(RecorderChoice::automatic), nullptr);
}

}  // namespace
}  // namespace ddpprof

// CUPTI's records of this process's own work: sets and copies, which need no compiler for GPUs.
#include "profiler/record/cupti_source.h"

#include "profiler/record/recorder.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

void must(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

// A recorder that sees device 0, and a piece of that device's memory.
class CuptiRecording : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    auto source = make_cupti_source(reason);
    ASSERT_NE(source, nullptr) << reason;
    must(cudaMalloc(&memory_, 2 * kBytes));
    const std::array<std::int32_t, 1> ordinals = {0};
    source->open(ordinals);
    recorder_ = std::make_unique<Recorder>(Recorder::Options{}, std::move(source));
  }
  void TearDown() override {
    recorder_.reset();
    cudaFree(memory_);
  }

  void set(cudaStream_t stream = nullptr) { must(cudaMemsetAsync(memory_, 0, kBytes, stream)); }
  void copy(cudaStream_t stream = nullptr) {
    must(cudaMemcpyAsync(static_cast<char*>(memory_) + kBytes, memory_, kBytes,
                         cudaMemcpyDeviceToDevice, stream));
  }
  Trace take() {
    recorder_->stop();
    return recorder_->take({});
  }

  void* memory_ = nullptr;
  std::unique_ptr<Recorder> recorder_;
};

const Call& launch_of(const Trace& trace, const Work& work) {
  return *std::ranges::find(trace.calls, work.correlation, &Call::correlation);
}

const std::string& name_of(const Trace& trace, NameId id) { return trace.names[id.index]; }

TEST_F(CuptiRecording, HasTheWorkTheCallsAndTheirTimes) {
  recorder_->start(0);
  recorder_->begin_step(0);
  const std::int64_t before_ns = now_ns();
  for (int i = 0; i < 100; ++i) set();
  must(cudaStreamSynchronize(nullptr));
  const std::int64_t after_ns = now_ns();
  recorder_->end_step();
  const Trace trace = take();
  EXPECT_EQ(trace.info.recorder, kCuptiRecorder);
  EXPECT_EQ(trace.info.dropped_records, 0);
  EXPECT_TRUE(trace.issues.empty()) << trace.issues.front().text;
  ASSERT_EQ(trace.work.size(), 100u) << "clock probes are not among them";
  ASSERT_TRUE(trace.info.device_clock_uncertainty_ns);
  const std::int64_t margin_ns = *trace.info.device_clock_uncertainty_ns;
  EXPECT_LT(margin_ns, 100'000);
  for (const Work& work : trace.work) {
    EXPECT_EQ(work.activity, Activity::copy);
    EXPECT_EQ(work.bytes, static_cast<std::int64_t>(kBytes));
    EXPECT_EQ(work.device, 0);
    const Call& call = launch_of(trace, work);
    EXPECT_EQ(name_of(trace, call.name), "cudaMemsetAsync");
    EXPECT_FALSE(call.synchronizes);
    EXPECT_GE(call.span.begin_ns, before_ns);
    EXPECT_GT(work.span.begin_ns + margin_ns, call.span.begin_ns);
    EXPECT_LT(work.span.end_ns - margin_ns, after_ns);
  }
  const auto wait = std::ranges::find_if(trace.calls, &Call::synchronizes);
  ASSERT_NE(wait, trace.calls.end());
  EXPECT_EQ(name_of(trace, wait->name), "cudaStreamSynchronize");
  EXPECT_EQ(std::ranges::count_if(trace.calls, &Call::synchronizes), 1);
  EXPECT_EQ(trace.calls.size(), 101u) << "nobody hears of other calls";
}

TEST_F(CuptiRecording, KnowsWhichCallsHoldUpTheHost) {
  recorder_->start(0);
  recorder_->begin_step(0);
  cudaEvent_t event = nullptr;
  must(cudaEventCreate(&event));
  set();
  must(cudaEventRecord(event, nullptr));
  must(cudaEventSynchronize(event));
  std::vector<char> pageable(1024);
  must(cudaMemcpyAsync(pageable.data(), memory_, 1024, cudaMemcpyDeviceToHost, nullptr));
  void* pinned = nullptr;
  must(cudaHostAlloc(&pinned, 1024, cudaHostAllocDefault));
  must(cudaMemcpyAsync(pinned, memory_, 1024, cudaMemcpyDeviceToHost, nullptr));
  must(cudaDeviceSynchronize());
  recorder_->end_step();
  const Trace trace = take();
  std::multimap<std::string, bool> waits;
  for (const Call& call : trace.calls) waits.emplace(name_of(trace, call.name), call.synchronizes);
  EXPECT_TRUE(waits.find("cudaEventSynchronize")->second);
  EXPECT_TRUE(waits.find("cudaDeviceSynchronize")->second);
  EXPECT_FALSE(waits.find("cudaMemsetAsync")->second);
  ASSERT_EQ(waits.count("cudaMemcpyAsync"), 2u);
  std::vector<bool> copies;
  for (const Call& call : trace.calls) {
    if (name_of(trace, call.name) == "cudaMemcpyAsync") copies.push_back(call.synchronizes);
  }
  EXPECT_EQ(copies, (std::vector<bool>{true, false})) << "into pageable, into pinned memory";
  cudaEventDestroy(event);
  cudaFreeHost(pinned);
}

TEST_F(CuptiRecording, TellsThreadsAndTheirScopesApart) {
  recorder_->start(0);
  recorder_->begin_step(0);
  {
    const PhaseScope scope(*recorder_, Phase::forward, "forward");
    std::vector<std::jthread> threads;
    for (std::int32_t replica = 0; replica < 3; ++replica) {
      threads.emplace_back([this, replica] {
        const ThreadScope thread(*recorder_, "replica " + std::to_string(replica), false, replica);
        const PhaseScope inner(*recorder_, Phase::gather, "gather");
        for (int i = 0; i <= replica; ++i) set();
      });
    }
  }
  recorder_->end_step();
  const Trace trace = take();
  std::map<std::string, int> launches;
  for (const Work& work : trace.work) {
    const Call& call = launch_of(trace, work);
    ++launches[trace.threads[call.thread.index].name];
    EXPECT_TRUE(std::ranges::any_of(trace.scopes, [&](const Scope& scope) {
      return scope.phase == Phase::gather && scope.thread == call.thread &&
             scope.span.contains(call.span.begin_ns);
    }));
  }
  EXPECT_EQ(launches,
            (std::map<std::string, int>{{"replica 0", 1}, {"replica 1", 2}, {"replica 2", 3}}));
}

// Captured before anything is recorded, one part by a thread without a scope, as autograd's are.
TEST_F(CuptiRecording, GivesPartsOfAGraphThePhaseInWhichTheyWereCaptured) {
  cudaStream_t stream = nullptr;
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  {
    const PhaseScope scope(*recorder_, Phase::forward, "forward");
    set(stream);
  }
  {
    const PhaseScope scope(*recorder_, Phase::backward, "backward");
    std::jthread([&] { copy(stream); }).join();
  }
  cudaGraph_t graph = nullptr;
  must(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t ready = nullptr;
  must(cudaGraphInstantiate(&ready, graph, 0));

  // And replayed in more than one recording.
  for (std::int64_t step = 0; step < 3; ++step) {
    recorder_->start(static_cast<std::int32_t>(step));
    recorder_->begin_step(step);
    const PhaseScope scope(*recorder_, Phase::optimizer, "replay");
    must(cudaGraphLaunch(ready, stream));
    recorder_->end_step();
    must(cudaStreamSynchronize(stream));
    recorder_->stop();
  }
  const Trace trace = take();
  ASSERT_EQ(trace.work.size(), 6u);
  for (const Work& work : trace.work) {
    const bool is_copy = name_of(trace, work.name).starts_with("Memcpy");
    EXPECT_EQ(work.captured_phase, is_copy ? Phase::backward : Phase::forward)
        << name_of(trace, work.name);
    EXPECT_EQ(name_of(trace, launch_of(trace, work).name), "cudaGraphLaunch");
  }
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

// Each recording takes CUPTI anew: times and correlations have to be right in all of them.
TEST_F(CuptiRecording, RecordsWhatHappensWhileItIsOnAndNothingElse) {
  constexpr int kRecordings = 50;
  for (int i = 0; i < kRecordings; ++i) {
    set();
    recorder_->start(i);
    recorder_->begin_step(i);
    copy();
    must(cudaStreamSynchronize(nullptr));
    recorder_->end_step();
    recorder_->stop();
    set();
  }
  const Trace trace = take();
  ASSERT_TRUE(trace.info.device_clock_uncertainty_ns);
  const std::int64_t margin_ns = *trace.info.device_clock_uncertainty_ns;
  EXPECT_LT(margin_ns, 100'000);
  for (std::size_t i = 0; i < std::min(trace.steps.size(), trace.work.size()); ++i) {
    const Work& work = trace.work[i];
    const Span step = trace.steps[i].span;
    EXPECT_TRUE(step.contains(launch_of(trace, work).span.begin_ns)) << "recording " << i;
    EXPECT_GT(work.span.begin_ns + margin_ns, step.begin_ns) << "recording " << i;
    EXPECT_LT(work.span.end_ns - margin_ns, step.end_ns) << "recording " << i;
  }
  EXPECT_EQ(trace.steps.size(), static_cast<std::size_t>(kRecordings));
  ASSERT_EQ(trace.work.size(), static_cast<std::size_t>(kRecordings));
  for (const Work& work : trace.work) {
    EXPECT_TRUE(name_of(trace, work.name).starts_with("Memcpy")) << name_of(trace, work.name);
  }
  EXPECT_EQ(trace.info.dropped_records, 0);
}

TEST_F(CuptiRecording, OutlivesAnExceptionInTheMiddleOfAStep) {
  recorder_->start(0);
  recorder_->begin_step(0);
  try {
    const PhaseScope outer(*recorder_, Phase::forward, "forward");
    const PhaseScope inner(*recorder_, Phase::loss, "loss");
    set();
    throw std::runtime_error("in the middle of a step");
  } catch (const std::runtime_error&) {
    set();
  }
  recorder_->stop();
  recorder_->start(1);
  recorder_->begin_step(1);
  {
    const PhaseScope scope(*recorder_, Phase::backward, "backward");
    copy();
  }
  recorder_->end_step();
  const Trace trace = take();
  ASSERT_EQ(trace.steps.size(), 1u) << "the one that was cut short is dropped";
  EXPECT_EQ(trace.steps[0].index, 1);
  EXPECT_FALSE(trace.steps[0].has_losses);
  EXPECT_EQ(trace.info.dropped_records, 1);
  EXPECT_EQ(trace.work.size(), 3u);
}

TEST_F(CuptiRecording, IsOneAProcess) {
  recorder_->start(0);
  recorder_->begin_step(0);
  set();
  std::string reason;
  EXPECT_EQ(make_cupti_source(reason), nullptr);
  EXPECT_EQ(reason, "another recorder of this process uses CUPTI");
  set();
  recorder_->end_step();
  EXPECT_EQ(take().calls.size(), 2u) << "the first one goes on";
}

void leave_while_recording() {
  std::string reason;
  auto source = make_cupti_source(reason);
  if (!source) std::exit(1);
  const std::array<std::int32_t, 1> ordinals = {0};
  source->open(ordinals);
  {
    Recorder recorder({}, std::move(source));
    void* memory = nullptr;
    must(cudaMalloc(&memory, kBytes));
    recorder.start(0);
    recorder.begin_step(0);
    for (int i = 0; i < 1000; ++i) must(cudaMemsetAsync(memory, 0, kBytes, nullptr));
  }
  must(cudaDeviceSynchronize());
  std::exit(7);
}

// As when something is thrown in a step and nobody catches it: in a process of its own, since the
// place stays taken.
TEST(CuptiProcessDeathTest, EndsInOrderWithARecordingUnderWay) {
  // A fork that knows CUDA is of no use.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leave_while_recording(), testing::ExitedWithCode(7), "");
}

void ignore(void* /*data*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
            const void* /*record*/) {}

TEST(CuptiPlace, IsLeftToWhoHasItAndNamed) {
  CUpti_SubscriberHandle other = nullptr;
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "someone else";
  ASSERT_EQ(cuptiSubscribe_v2(&other, ignore, nullptr, &parameters), CUPTI_SUCCESS);
  std::string reason;
  EXPECT_EQ(make_cupti_source(reason), nullptr);
  EXPECT_NE(reason.find("CUPTI is in use by"), std::string::npos) << reason;
  EXPECT_NE(reason.find("someone else"), std::string::npos) << reason;
  const auto source = make_device_source(RecorderChoice::automatic);
  EXPECT_EQ(source->recorder(), kEventRecorder);
  EXPECT_EQ(source->reason(), reason);
  cuptiUnsubscribe(other);
  const auto later = make_device_source(RecorderChoice::automatic);
  EXPECT_EQ(later->recorder(), kCuptiRecorder) << later->reason();
}

}  // namespace
}  // namespace ddpprof::test

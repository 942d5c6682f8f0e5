#include "profiler/record/cupti_source.h"

#include "profiler/record/clock_prober.h"
#include "profiler/record/cupti_session.h"
#include "profiler/record/device_trace.h"
#include "profiler/record/nvtx_ranges.h"
#include "profiler/record/recorder.h"
#include "profiler/record/thread_names.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

namespace ddpprof {
namespace {

constexpr std::size_t kMaxDepth = 64;

// The phases of the calling thread's open scopes, for parts of a CUDA graph that it captures.
struct OpenPhases {
  std::size_t depth;  // may exceed kMaxDepth
  bool is_main;
  std::array<Phase, kMaxDepth> phases;
};
constinit thread_local OpenPhases open_phases = {};

std::uint32_t this_thread() noexcept { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

class CuptiSource : public DeviceSource {
 public:
  // Null: see `reason`.
  static std::unique_ptr<CuptiSource> make(std::string& reason) {
    auto source = std::make_unique<CuptiSource>();
    source->session_ =
        CuptiSession::open([self = source.get()] { return self->phase_now(); }, reason);
    return source->session_ ? std::move(source) : nullptr;
  }

  std::string_view recorder() const noexcept override { return kCuptiRecorder; }
  bool sees_work() const noexcept override { return true; }
  // A graph may be captured while nothing is recorded.
  bool annotates() const noexcept override { return true; }

  void open(std::span<const std::int32_t> ordinals) noexcept override {
    open_phases.is_main = true;
    ordinals_.assign(ordinals.begin(), ordinals.end());
    prober_.open(ordinals_);
  }

  void start() noexcept override {
    if (!session_->start()) return;
    prober_.probe(probes_);
  }

  void stop() noexcept override {
    prober_.probe(probes_);  // waits for the devices
    session_->stop();
  }

  void collect(Trace& trace) noexcept override {
    try {
      DeviceRecording recording{.records = session_->take_records(),
                                .ordinals = ordinals_,
                                .probes = std::exchange(probes_, {}),
                                .losses = session_->take_losses(),
                                .captured_phases = session_->captured_phases(),
                                .thread_names = {}};
      for (const DeviceCall& call : recording.records.calls) {
        recording.thread_names.try_emplace(call.thread);
      }
      for (auto& [thread, name] : recording.thread_names) name = name_of_thread(thread);
      append_recording(std::move(recording), trace);
      add_issue(trace, session_->error());
      add_issue(trace, prober_.error());
    } catch (const std::bad_alloc&) {
      ++trace.info.dropped_records;
      for (Step& step : trace.steps) step.has_losses = true;
    }
  }

  void date_collectives(const Trace& trace,
                        std::span<CollectiveTimes> collectives) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      find_carriers(trace, std::exchange(launches_, {}), collectives);
    } catch (const std::bad_alloc&) {
      for (CollectiveTimes& one : collectives) one.lost = true;
    }
  }

  void begin_step(std::int64_t index, bool /*recorded*/) noexcept override {
    ranges_.begin_step(index);
  }
  void end_step() noexcept override { ranges_.end(); }

  void begin_scope(const HostScope& scope) noexcept override {
    ranges_.begin_scope(scope);
    OpenPhases& open = open_phases;
    if (open.depth < kMaxDepth) open.phases[open.depth] = scope.phase;
    ++open.depth;
    publish(open);
  }

  void end_scope() noexcept override {
    ranges_.end();
    OpenPhases& open = open_phases;
    if (open.depth > 0) --open.depth;
    publish(open);
  }

  void begin_collective(std::uint32_t index, std::int32_t device) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      launches_[index] = {
          .device = device, .thread = this_thread(), .begin_ns = now_ns(), .end_ns = 0};
    } catch (const std::bad_alloc&) {
      return;  // lost, and counted as such
    }
  }

  void end_launch(std::uint32_t index) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = launches_.find(index);
    if (found != launches_.end()) found->second.end_ns = now_ns();
  }

 private:
  static Phase innermost(const OpenPhases& open) {
    return open.phases[std::min(open.depth, kMaxDepth) - 1];
  }

  // The process-wide phase is the training loop's thread's.
  void publish(const OpenPhases& open) noexcept {
    if (!open.is_main) return;
    main_phase_.store(open.depth == 0 ? Phase::other : innermost(open), std::memory_order_relaxed);
  }

  Phase phase_now() const noexcept {
    const OpenPhases& open = open_phases;
    return open.depth == 0 ? main_phase_.load(std::memory_order_relaxed) : innermost(open);
  }

  static void add_issue(Trace& trace, const std::string& error) {
    if (error.empty()) return;
    trace.issues.push_back(
        {"device-records-failed", "records of the devices may be missing after " + error, 1});
  }

  NvtxRanges ranges_;
  std::atomic<Phase> main_phase_ = Phase::other;
  std::vector<std::int32_t> ordinals_;
  std::vector<ClockProbe> probes_;
  ClockProber prober_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, CollectiveLaunch> launches_;  // by index
  std::unique_ptr<CuptiSession> session_;
};

}  // namespace

std::unique_ptr<DeviceSource> make_cupti_source(std::string& reason) {
  std::uint32_t version = 0;
  if (cuptiGetVersion(&version) != CUPTI_SUCCESS) version = 0;
  reason =
      find_objection(version, [](const char* name) -> const char* { return std::getenv(name); });
  if (!reason.empty()) return nullptr;
  return CuptiSource::make(reason);
}

}  // namespace ddpprof

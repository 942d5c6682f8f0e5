#include "profiler/record/cupti_source.h"

#include "profiler/record/clock_prober.h"
#include "profiler/record/cupti_session.h"
#include "profiler/record/device_trace.h"
#include "profiler/record/nvtx_ranges.h"
#include "profiler/record/recorder.h"
#include "profiler/record/thread_names.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

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

// The process-wide phase is the training loop's thread's. Not a member: graphs may be captured, and
// CUPTI tell of it, when a source is gone.
std::atomic<Phase> main_phase = Phase::other;

Phase innermost(const OpenPhases& open) { return open.phases[std::min(open.depth, kMaxDepth) - 1]; }

Phase phase_now() {
  const OpenPhases& open = open_phases;
  return open.depth == 0 ? main_phase.load(std::memory_order_relaxed) : innermost(open);
}

class CuptiSource : public DeviceSource {
 public:
  explicit CuptiSource(std::unique_ptr<CuptiSession> session) : session_(std::move(session)) {}
  // A recording that nobody stopped is one in which something was thrown. CUPTI still writes into
  // the session's buffers, and to stop it might wait for a device that is gone: so the session
  // stays to the end of the process.
  ~CuptiSource() override {
    if (is_on_) session_.release();  // NOLINT(bugprone-unused-return-value)
  }
  CuptiSource(const CuptiSource&) = delete;
  CuptiSource& operator=(const CuptiSource&) = delete;

  std::string_view recorder() const noexcept override { return kCuptiRecorder; }
  bool sees_work() const noexcept override { return true; }
  // A graph may be captured while nothing is recorded.
  bool annotates() const noexcept override { return true; }

  void open(std::span<const std::int32_t> ordinals) noexcept override {
    open_phases.is_main = true;
    try {
      ordinals_.assign(ordinals.begin(), ordinals.end());
    } catch (const std::bad_alloc&) {
      has_failed_ = true;
      return;
    }
    prober_.open(ordinals_);
  }

  void start() noexcept override {
    ++recording_;
    is_on_ = session_->start();
    has_failed_ = has_failed_ || !is_on_;
    if (is_on_) prober_.probe(recording_, probes_);
  }

  void stop() noexcept override {
    if (!is_on_) return;
    prober_.probe(recording_, probes_);  // waits for the devices
    session_->stop();
    is_on_ = false;
  }

  void collect(Trace& trace) noexcept override {
    try {
      DeviceRecording recording{.records = session_->take_records(),
                                .ordinals = ordinals_,
                                .probes = std::exchange(probes_, {}),
                                .losses = session_->take_losses(),
                                .has_failed = has_failed_ || !session_->error().empty(),
                                .captured_phases = session_->captured_phases(),
                                .thread_names = {}};
      for (const DeviceCall& call : recording.records.calls) {
        recording.thread_names.try_emplace(call.thread);
      }
      for (auto& [thread, name] : recording.thread_names) name = name_of_thread(thread);
      has_losses_ =
          recording.losses.any() || recording.has_failed || recording.records.incomplete_count > 0;
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
      find_carriers(trace, std::exchange(launches_, {}), has_losses_, collectives);
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
          .device = device, .thread = this_thread_id(), .begin_ns = now_ns(), .end_ns = 0};
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
  static void publish(const OpenPhases& open) noexcept {
    if (!open.is_main) return;
    main_phase.store(open.depth == 0 ? Phase::other : innermost(open), std::memory_order_relaxed);
  }

  static void add_issue(Trace& trace, const std::string& error) {
    if (error.empty()) return;
    trace.issues.push_back(
        {"device-records-failed", "records of the devices may be missing after " + error, 1});
  }

  NvtxRanges ranges_;
  std::vector<std::int32_t> ordinals_;
  std::vector<ClockProbe> probes_;
  std::int32_t recording_ = 0;
  bool is_on_ = false, has_failed_ = false, has_losses_ = false;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, CollectiveLaunch> launches_;  // by index
  std::unique_ptr<CuptiSession> session_;
  ClockProber prober_;
};

}  // namespace

std::unique_ptr<DeviceSource> make_cupti_source(std::string& reason) {
  std::uint32_t version = 0;
  if (cuptiGetVersion(&version) != CUPTI_SUCCESS) version = 0;
  reason =
      find_objection(version, [](const char* name) -> const char* { return std::getenv(name); });
  if (!reason.empty()) return nullptr;
  auto session = CuptiSession::open(phase_now, reason);
  return session ? std::make_unique<CuptiSource>(std::move(session)) : nullptr;
}

}  // namespace ddpprof

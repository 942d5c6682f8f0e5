#include "profiler/record/event_source.h"

#include "profiler/record/device_events.h"
#include "profiler/record/nvtx_ranges.h"

#include <array>
#include <atomic>
#include <map>
#include <new>
#include <utility>
#include <vector>

namespace ddpprof {
namespace {

constexpr std::size_t kEventsAhead = 2048;
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);  // the scope is about no device
constexpr std::size_t kEverywhere = kNowhere - 1;               // about all of the process's

// Which devices the calling thread's open scopes are about, so that their ends find them.
struct OpenScopes {
  std::uint64_t recording;
  std::size_t depth;
  std::array<std::size_t, kMaxDepth> where;
};
constinit thread_local OpenScopes open_scopes = {};

struct CollectiveEvents {
  std::size_t device = 0;  // position
  std::size_t ready = DeviceEvents::kNone;
  std::size_t end = DeviceEvents::kNone;
};

class EventSource : public DeviceSource {
 public:
  explicit EventSource(std::string reason) : reason_(std::move(reason)) {}

  std::string_view recorder() const noexcept override { return kEventRecorder; }
  std::string_view reason() const noexcept override { return reason_; }

  void open(std::span<const std::int32_t> ordinals) noexcept override {
    for (std::size_t i = 0; i < ordinals.size(); ++i) {
      devices_.push_back(std::make_unique<DeviceEvents>(ordinals[i], static_cast<std::int32_t>(i)));
      devices_.back()->pin();
    }
  }

  bool annotates() const noexcept override { return ranges_.is_on(); }

  void start() noexcept override {
    for (const auto& device : devices_) device->reserve(kEventsAhead);
    ++recording_;
    is_on_ = true;
  }

  // What ends later than this has no time and is dropped.
  void stop() noexcept override {
    is_on_ = false;
    ++recording_;  // ends of scopes that are open now are none of the next recording
    const std::lock_guard lock(mutex_);
    for (const auto& device : devices_) device->resolve(phases_, uncertainty_ns_);
    for (const auto& [index, events] : open_collectives_) {
      const std::vector<std::int64_t>& times_ns = devices_[events.device]->times_ns();
      if (events.ready >= times_ns.size() || events.end >= times_ns.size()) continue;
      try {
        collective_times_[index] = {times_ns[events.ready], times_ns[events.end]};
      } catch (const std::bad_alloc&) {
        continue;  // lost, and counted as such
      }
    }
    open_collectives_.clear();
  }

  void collect(Trace& trace) noexcept override {
    if (!reason_.empty()) {
      trace.issues.push_back({"recorded-without-cupti", "phases alone were timed: " + reason_, 1});
    }
    trace.device_phases = std::exchange(phases_, {});
    if (uncertainty_ns_ > 0) trace.info.device_clock_uncertainty_ns = uncertainty_ns_;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const std::string& error = devices_[i]->error();
      if (error.empty()) continue;
      trace.issues.push_back(
          {"device-events-failed",
           "phases of device " + std::to_string(i) + " were not timed any more after " + error, 1});
    }
  }

  void date_collectives(const Trace& /*trace*/,
                        std::span<CollectiveTimes> collectives) noexcept override {
    for (CollectiveTimes& one : collectives) {
      const auto found = collective_times_.find(one.index);
      one.lost = found == collective_times_.end();
      if (one.lost) continue;
      one.ready_ns = one.start_ns = found->second.begin_ns;
      one.end_ns = found->second.end_ns;
    }
    collective_times_.clear();
  }

  void begin_step(std::int64_t index, bool recorded) noexcept override {
    ranges_.begin_step(index);
    if (!recorded) return;
    for (const auto& device : devices_) device->begin_step(index);
  }

  void end_step() noexcept override {
    ranges_.end();
    if (!is_on_) return;
    for (const auto& device : devices_) device->end_step();
  }

  void begin_scope(const HostScope& scope) noexcept override {
    ranges_.begin_scope(scope);
    OpenScopes& open = open_scopes;
    if (open.recording != recording_) open = {.recording = recording_, .depth = 0, .where = {}};
    if (open.depth++ >= kMaxDepth) return;
    std::size_t& where = open.where[open.depth - 1];
    where = scope.recorded && !scope.brief ? find_devices(scope) : kNowhere;
    on_each(where, [&](DeviceEvents& device) { device.push(scope.phase); });
  }

  void end_scope() noexcept override {
    ranges_.end();
    OpenScopes& open = open_scopes;
    if (open.recording != recording_ || open.depth == 0) return;
    --open.depth;
    if (open.depth >= kMaxDepth) return;
    on_each(open.where[open.depth], [](DeviceEvents& device) { device.pop(); });
  }

  void change_phase(Phase phase) noexcept override {
    on_each(kEverywhere, [&](DeviceEvents& device) { device.change(phase); });
  }

  void begin_collective(std::uint32_t index, std::int32_t device) noexcept override {
    const auto position = static_cast<std::size_t>(device);
    if (position >= devices_.size()) return;
    const std::lock_guard lock(mutex_);
    try {
      open_collectives_[index] = {.device = position,
                                  .ready = devices_[position]->record_time(nullptr),
                                  .end = DeviceEvents::kNone};
    } catch (const std::bad_alloc&) {
      return;  // lost, and counted as such
    }
  }

  void end_collective(std::uint32_t index, void* stream) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = open_collectives_.find(index);
    if (found == open_collectives_.end()) return;
    found->second.end =
        devices_[found->second.device]->record_time(static_cast<CUstream_st*>(stream));
  }

 private:
  std::size_t find_devices(const HostScope& scope) const {
    if (!scope.replica) return kEverywhere;
    const auto position = static_cast<std::size_t>(*scope.replica);
    return position < devices_.size() ? position : kNowhere;
  }

  template <typename Act>
  void on_each(std::size_t where, const Act& act) noexcept {
    if (where == kEverywhere) {
      for (const auto& device : devices_) act(*device);
    } else if (where < devices_.size()) {
      act(*devices_[where]);
    }
  }

  const std::string reason_;
  NvtxRanges ranges_;
  std::vector<std::unique_ptr<DeviceEvents>> devices_;
  std::atomic<std::uint64_t> recording_ = 0;
  std::atomic<bool> is_on_ = false;
  std::vector<DevicePhase> phases_;
  std::int64_t uncertainty_ns_ = 0;
  std::mutex mutex_;
  std::map<std::uint32_t, CollectiveEvents> open_collectives_;
  std::map<std::uint32_t, Span> collective_times_;  // ready to end
};

}  // namespace

std::unique_ptr<DeviceSource> make_event_source(std::string reason) {
  return std::make_unique<EventSource>(std::move(reason));
}

}  // namespace ddpprof

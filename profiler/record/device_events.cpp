#include "profiler/record/device_events.h"

#include "profiler/record/recorder.h"

#include <algorithm>
#include <cmath>
#include <new>

#include <cuda_runtime_api.h>

namespace ddpprof {
namespace {

constexpr int kReferenceTries = 8;

// In scope = the calling thread's current device is this one.
class DeviceScope {
 public:
  explicit DeviceScope(int ordinal) : ordinal_(ordinal) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = ordinal;
    if (before_ != ordinal) cudaSetDevice(ordinal);
  }
  ~DeviceScope() {
    if (before_ != ordinal_) cudaSetDevice(before_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int ordinal_;
  int before_ = 0;
};

}  // namespace

DeviceEvents::~DeviceEvents() {
  for (const auto* events : {&mark_events_, &time_events_, &reference_events_, &free_}) {
    for (CUevent_st* event : *events) cudaEventDestroy(event);
  }
}

bool DeviceEvents::failed(int code, const char* call) noexcept {
  if (code == cudaSuccess) return false;
  if (error_.empty()) {
    try {
      error_ = std::string(call) + ": " + cudaGetErrorString(static_cast<cudaError_t>(code));
    } catch (const std::bad_alloc&) {
      return true;
    }
  }
  return true;
}

void DeviceEvents::reserve(std::size_t count) noexcept {
  const DeviceScope device(ordinal_);
  const std::lock_guard lock(mutex_);
  try {
    marks_.reserve(count);
    mark_events_.reserve(count);
    time_events_.reserve(count);
    free_.reserve(2 * count);
    while (free_.size() < count) {
      cudaEvent_t event = nullptr;
      if (failed(cudaEventCreate(&event), "cudaEventCreate")) return;
      free_.push_back(event);
    }
  } catch (const std::bad_alloc&) {
    error_ = "memory";
  }
}

CUevent_st* DeviceEvents::take_event() noexcept {
  if (!free_.empty()) {
    CUevent_st* const event = free_.back();
    free_.pop_back();
    return event;
  }
  cudaEvent_t event = nullptr;
  return failed(cudaEventCreate(&event), "cudaEventCreate") ? nullptr : event;
}

CUevent_st* DeviceEvents::record(CUstream_st* stream) noexcept {
  const DeviceScope device(ordinal_);
  CUevent_st* const event = take_event();
  if (event != nullptr) failed(cudaEventRecord(event, stream), "cudaEventRecord");
  return event;
}

void DeviceEvents::mark() noexcept {
  if (!error_.empty()) return;
  CUevent_st* const event = record(nullptr);
  if (event != nullptr) mark_events_.push_back(event);
}

void DeviceEvents::begin_step(std::int64_t index) noexcept {
  const std::lock_guard lock(mutex_);
  if (marks_.begin_step(index)) mark();
}

void DeviceEvents::end_step() noexcept {
  const std::lock_guard lock(mutex_);
  if (marks_.end_step()) mark();
}

void DeviceEvents::push(Phase phase) noexcept {
  const std::lock_guard lock(mutex_);
  if (marks_.push(phase)) mark();
}

void DeviceEvents::pop() noexcept {
  const std::lock_guard lock(mutex_);
  if (marks_.pop()) mark();
}

void DeviceEvents::change(Phase phase) noexcept {
  const std::lock_guard lock(mutex_);
  if (marks_.change(phase)) mark();
}

std::size_t DeviceEvents::record_time(CUstream_st* stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_.empty()) return kNone;
  CUevent_st* const event = record(stream);
  if (event == nullptr) return kNone;
  time_events_.push_back(event);
  return time_events_.size() - 1;
}

// Recorded on an idle device, an event is reached at once: between the two reads of the host's
// clock. The tightest pair of reads wins.
DeviceEvents::Reference DeviceEvents::find_reference() {
  Reference best;
  for (int i = 0; i < kReferenceTries; ++i) {
    CUevent_st* const event = take_event();
    if (event == nullptr) break;
    reference_events_.push_back(event);
    const std::int64_t before_ns = now_ns();
    if (failed(cudaEventRecord(event, nullptr), "cudaEventRecord") ||
        failed(cudaEventSynchronize(event), "cudaEventSynchronize")) {
      break;
    }
    const std::int64_t half_ns = (now_ns() - before_ns + 1) / 2;
    if (best.event == nullptr || half_ns < best.uncertainty_ns) {
      best = {.event = event, .time_ns = before_ns + half_ns, .uncertainty_ns = half_ns};
    }
  }
  return best;
}

// From event to event: a difference of milliseconds in 32 bits is exact to the nanosecond, one of
// seconds is not.
std::vector<std::int64_t> DeviceEvents::date(const std::vector<CUevent_st*>& events,
                                             const Reference& reference) {
  std::vector<std::int64_t> times_ns;
  for (CUevent_st* event : events) {
    const bool is_first = times_ns.empty();
    float ms = 0;
    if (failed(is_first ? cudaEventElapsedTime(&ms, event, reference.event)
                        : cudaEventElapsedTime(&ms, events[times_ns.size() - 1], event),
               "cudaEventElapsedTime")) {
      return {};
    }
    const auto ns = static_cast<std::int64_t>(std::llround(static_cast<double>(ms) * 1e6));
    times_ns.push_back(is_first ? reference.time_ns - ns : times_ns.back() + ns);
  }
  return times_ns;
}

void DeviceEvents::resolve(std::vector<DevicePhase>& phases,
                           std::int64_t& uncertainty_ns) noexcept {
  const DeviceScope device(ordinal_);
  const std::lock_guard lock(mutex_);
  times_ns_.clear();
  failed(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  try {
    const Reference reference = error_.empty() ? find_reference() : Reference{};
    if (error_.empty() && reference.event != nullptr) {
      const auto mark_times_ns = date(mark_events_, reference);
      times_ns_ = date(time_events_, reference);
      const auto found = to_device_phases(marks_.marks(), mark_times_ns, position_);
      phases.insert(phases.end(), found.begin(), found.end());
      uncertainty_ns = std::max(uncertainty_ns, reference.uncertainty_ns);
    }
    for (auto* events : {&mark_events_, &time_events_, &reference_events_}) {
      free_.insert(free_.end(), events->begin(), events->end());
      events->clear();
    }
  } catch (const std::bad_alloc&) {
    error_ = "memory";
  }
  marks_.clear();
}

}  // namespace ddpprof

#include "profiler/record/device_events.h"

#include "profiler/record/cuda_error.h"
#include "profiler/record/recorder.h"

#include <algorithm>
#include <cmath>
#include <new>

#include <cuda_runtime_api.h>

namespace ddpprof {
namespace {

constexpr int kReferenceTries = 8;
// Between two references that are to tell a rate.
constexpr double kLeastBaselineNs = 1e9;

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
  if (pin_.event != nullptr) cudaEventDestroy(pin_.event);
}

bool DeviceEvents::failed(int code, const char* call) noexcept {
  return note_cuda_error(code, call, error_);
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

// `change` moves the marks and returns whether there is a new one.
template <typename Change>
void DeviceEvents::mark_after(const Change& change) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_.empty()) return;
  try {
    if (!change(marks_)) return;
    CUevent_st* const event = record(nullptr);
    if (event != nullptr) mark_events_.push_back(event);
  } catch (const std::bad_alloc&) {
    error_ = "memory";
  }
}

void DeviceEvents::begin_step(std::int64_t index) noexcept {
  mark_after([index](PhaseMarks& marks) { return marks.begin_step(index); });
}

void DeviceEvents::end_step() noexcept {
  mark_after([](PhaseMarks& marks) { return marks.end_step(); });
}

void DeviceEvents::push(Phase phase) noexcept {
  mark_after([phase](PhaseMarks& marks) { return marks.push(phase); });
}

void DeviceEvents::pop() noexcept {
  mark_after([](PhaseMarks& marks) { return marks.pop(); });
}

void DeviceEvents::change(Phase phase) noexcept {
  mark_after([phase](PhaseMarks& marks) { return marks.change(phase); });
}

std::size_t DeviceEvents::record_time(CUstream_st* stream) noexcept {
  const std::lock_guard lock(mutex_);
  if (!error_.empty()) return kNone;
  CUevent_st* const event = record(stream);
  if (event == nullptr) return kNone;
  try {
    time_events_.push_back(event);
  } catch (const std::bad_alloc&) {
    error_ = "memory";
    return kNone;
  }
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

void DeviceEvents::pin() noexcept {
  const DeviceScope device(ordinal_);
  const std::lock_guard lock(mutex_);
  try {
    if (failed(cudaDeviceSynchronize(), "cudaDeviceSynchronize")) return;
    pin_ = find_reference();
    std::erase(reference_events_, pin_.event);
  } catch (const std::bad_alloc&) {
    error_ = "memory";
  }
}

DeviceEvents::Rate DeviceEvents::find_rate(const Reference& reference) {
  if (pin_.event == nullptr) return {};
  float device_ms = 0;
  if (failed(cudaEventElapsedTime(&device_ms, pin_.event, reference.event),
             "cudaEventElapsedTime")) {
    return {};
  }
  const auto host_ns = static_cast<double>(reference.time_ns - pin_.time_ns);
  const double device_ns = static_cast<double>(device_ms) * 1e6;
  if (host_ns < kLeastBaselineNs || !(device_ns > 0)) return {};
  return {.value = host_ns / device_ns,
          .error = static_cast<double>(pin_.uncertainty_ns + reference.uncertainty_ns) / host_ns};
}

// From event to event: a 32-bit difference of milliseconds is good to some nanoseconds, one of
// seconds is not. Events themselves resolve about 0.5 us (CUDA runtime API, cudaEventElapsedTime).
std::vector<std::int64_t> DeviceEvents::date(const std::vector<CUevent_st*>& events,
                                             const Reference& reference, double rate) {
  std::vector<std::int64_t> times_ns;
  for (CUevent_st* event : events) {
    const bool is_first = times_ns.empty();
    float ms = 0;
    if (failed(is_first ? cudaEventElapsedTime(&ms, event, reference.event)
                        : cudaEventElapsedTime(&ms, events[times_ns.size() - 1], event),
               "cudaEventElapsedTime")) {
      return {};
    }
    const auto ns = static_cast<std::int64_t>(std::llround(static_cast<double>(ms) * 1e6 * rate));
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
      const Rate rate = find_rate(reference);
      const auto mark_times_ns = date(mark_events_, reference, rate.value);
      times_ns_ = date(time_events_, reference, rate.value);
      const auto found = to_device_phases(marks_.marks(), mark_times_ns, position_);
      phases.insert(phases.end(), found.begin(), found.end());
      const std::int64_t length_ns =
          mark_times_ns.empty() ? 0 : reference.time_ns - mark_times_ns.front();
      uncertainty_ns =
          std::max(uncertainty_ns,
                   reference.uncertainty_ns +
                       static_cast<std::int64_t>(rate.error * static_cast<double>(length_ns)));
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

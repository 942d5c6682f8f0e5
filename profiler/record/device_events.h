// CUDA events of one device: taken from a pool, recorded on its main stream while steps run, and
// read when they are over.
#pragma once

#include "profiler/record/phase_marks.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

struct CUevent_st;
struct CUstream_st;

namespace ddpprof {

// The main stream is the default one, on which PyTorch launches unless it is told otherwise.
// Threads: the members that record may be called from any; the others from one, outside of steps.
// Guarantees: nothing throws. After a failed call of the CUDA runtime nothing is delivered any
// more, and error() says which.
class DeviceEvents {
 public:
  // `position`: among the process's devices, the number that goes into the records.
  DeviceEvents(std::int32_t ordinal, std::int32_t position)
      : ordinal_(ordinal), position_(position) {}
  ~DeviceEvents();
  DeviceEvents(const DeviceEvents&) = delete;
  DeviceEvents& operator=(const DeviceEvents&) = delete;

  // Waits for the device and ties its clock to the host's, so that resolve() can tell how fast one
  // runs against the other. Without it the device's is taken at its word.
  void pin() noexcept;

  // Makes `count` events ahead of time.
  void reserve(std::size_t count) noexcept;

  void begin_step(std::int64_t index) noexcept;
  void end_step() noexcept;
  void push(Phase phase) noexcept;
  void pop() noexcept;
  void change(Phase phase) noexcept;

  // When what the main stream, or `stream`, holds now is done.
  // Returns the number of the event; kNone when it could not be recorded.
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t record_time(CUstream_st* stream) noexcept;

  // Waits for the device, dates everything recorded since the last call, appends the stretches to
  // `phases`, and gives the events back. `uncertainty_ns` is raised to that of these times against
  // the host's clock: half the time in which the reference event was recorded and reached, and what
  // the two references leave open of the rate.
  void resolve(std::vector<DevicePhase>& phases, std::int64_t& uncertainty_ns) noexcept;
  // Of the last resolve(), by number. Shape: as many as record_time() gave numbers.
  const std::vector<std::int64_t>& times_ns() const { return times_ns_; }

  const std::string& error() const { return error_; }

 private:
  CUevent_st* take_event() noexcept;
  CUevent_st* record(CUstream_st* stream) noexcept;
  template <typename Change>
  void mark_after(const Change& change) noexcept;
  bool failed(int code, const char* call) noexcept;
  struct Reference {
    CUevent_st* event = nullptr;
    std::int64_t time_ns = 0;
    std::int64_t uncertainty_ns = 0;
  };
  Reference find_reference();
  // Host nanoseconds a device nanosecond, and how wrong that may be.
  struct Rate {
    double value = 1;
    double error = 0;
  };
  Rate find_rate(const Reference& reference);
  std::vector<std::int64_t> date(const std::vector<CUevent_st*>& events, const Reference& reference,
                                 double rate);

  const std::int32_t ordinal_, position_;
  std::mutex mutex_;
  PhaseMarks marks_;
  std::vector<CUevent_st*> mark_events_;  // one a marker
  std::vector<CUevent_st*> time_events_;  // by number
  std::vector<CUevent_st*> reference_events_;
  std::vector<CUevent_st*> free_;
  std::vector<std::int64_t> times_ns_;
  Reference pin_;
  std::string error_;
};

}  // namespace ddpprof

#include "profiler/formats/common_clock.h"

#include <algorithm>
#include <limits>

namespace ddpprof {
namespace {

std::int64_t to_real(const TraceInfo& info) {
  return wrapping_difference(info.clock_begin.real_ns, info.clock_begin.monotonic_ns);
}

}  // namespace

std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t wrapping_difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

CommonClock::CommonClock(std::span<const Trace> traces)
    : begin_ns_(std::numeric_limits<std::int64_t>::max()),
      end_ns_(std::numeric_limits<std::int64_t>::min()) {
  for (const Trace& trace : traces) {
    const TraceInfo& first = traces.front().info;
    const bool is_shared = !first.boot_id.empty() && trace.info.boot_id == first.boot_id;
    shifts_.push_back(is_shared ? 0 : wrapping_difference(to_real(trace.info), to_real(first)));
    widen(trace, shifts_.back());
  }
  if (begin_ns_ > end_ns_) begin_ns_ = end_ns_ = 0;
  if (!traces.empty()) epoch_ns_ = wrapping_sum(begin_ns_, to_real(traces.front().info));
}

std::int64_t CommonClock::shift(std::size_t trace) const {
  return wrapping_difference(shifts_[trace], begin_ns_);
}

std::int64_t CommonClock::length_ns() const { return wrapping_difference(end_ns_, begin_ns_); }

void CommonClock::widen(const Trace& trace, std::int64_t shift) {
  const auto take = [&](const auto& records) {
    for (const auto& record : records) {
      begin_ns_ = std::min(begin_ns_, wrapping_sum(record.span.begin_ns, shift));
      end_ns_ = std::max(end_ns_, wrapping_sum(record.span.end_ns, shift));
    }
  };
  take(trace.steps);
  take(trace.scopes);
  take(trace.calls);
  take(trace.work);
  take(trace.device_phases);
  take(trace.collectives);
}

}  // namespace ddpprof

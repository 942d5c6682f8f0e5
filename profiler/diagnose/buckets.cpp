#include "profiler/diagnose/buckets.h"

#include <cstdint>
#include <map>
#include <utility>

namespace ddpprof {
namespace {

using BucketKey = std::pair<std::int32_t, std::int64_t>;  // index, bytes
using StepBuckets = std::map<BucketKey, const Collective*>;

// The buckets of each counted step on one device.
std::vector<StepBuckets> buckets_by_step(const MeasuredDevice& device, const Trace& trace) {
  std::vector<StepBuckets> by_step(device.steps.size());
  for (const std::size_t i : device.timeline.collectives) {
    const Collective& collective = trace.collectives[i];
    if (!is_gradient_all_reduce(collective) || !collective.bucket || !collective.ready_ns) continue;
    const auto step = window_at(device.timeline.windows, collective.span.begin_ns);
    if (!step) continue;
    const Collective*& latest = by_step[*step][{*collective.bucket, collective.bytes}];
    if (latest == nullptr || latest->span < collective.span) latest = &collective;
  }
  return by_step;
}

struct Sum {
  std::int64_t steps_count = 0;
  std::int64_t ready_ns = 0, queued_ns = 0, start_ns = 0, end_ns = 0;

  void add(const Collective& collective, std::int64_t window_begin_ns) {
    ++steps_count;
    ready_ns += *collective.ready_ns - window_begin_ns;
    queued_ns += collective.span.begin_ns - *collective.ready_ns;
    start_ns += collective.span.begin_ns - window_begin_ns;
    end_ns += collective.span.end_ns - window_begin_ns;
  }

  double mean_ms(std::int64_t sum_ns) const {
    return static_cast<double>(sum_ns) / static_cast<double>(steps_count) / 1e6;
  }
};

}  // namespace

std::vector<BucketFigures> find_buckets(const MeasuredRun& measured, const Run& run) {
  std::vector<std::vector<StepBuckets>> by_device;
  for (const MeasuredDevice& device : measured.devices) {
    by_device.push_back(buckets_by_step(device, run.ranks[device.trace]));
  }
  const std::size_t last = measured.critical.size() - 1;
  std::map<BucketKey, Sum> sums;
  for (const auto& [key, collective] : by_device[measured.critical[last]][last]) sums[key] = {};
  for (std::size_t step = 0; step < measured.critical.size(); ++step) {
    const std::size_t device = measured.critical[step];
    const std::int64_t begin_ns = measured.devices[device].window_of(step).span.begin_ns;
    for (const auto& [key, collective] : by_device[device][step]) {
      if (const auto found = sums.find(key); found != sums.end()) {
        found->second.add(*collective, begin_ns);
      }
    }
  }
  std::vector<BucketFigures> figures;
  for (const auto& [key, sum] : sums) {
    figures.push_back({.index = key.first,
                       .bytes = key.second,
                       .ready_ms = sum.mean_ms(sum.ready_ns),
                       .queued_ms = sum.mean_ms(sum.queued_ns),
                       .start_ms = sum.mean_ms(sum.start_ns),
                       .end_ms = sum.mean_ms(sum.end_ns)});
  }
  return figures;
}

}  // namespace ddpprof

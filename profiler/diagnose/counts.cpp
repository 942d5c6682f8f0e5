#include "profiler/diagnose/counts.h"

#include "profiler/diagnose/devices.h"
#include "profiler/diagnose/launches.h"
#include "profiler/diagnose/timeline.h"
#include "profiler/diagnose/windows.h"

#include <algorithm>
#include <cstdint>

namespace ddpprof {
namespace {

std::int64_t count_launches(const Trace& trace, const std::vector<Step>& steps) {
  StepFinder finder(steps);
  return std::ranges::count_if(
      find_launch_times(trace, find_devices(trace)),
      [&](std::int64_t launched_ns) { return finder.find(launched_ns).has_value(); });
}

}  // namespace

std::map<std::string, double> find_counts(const Trace& trace) {
  const std::vector<Step> steps = order_steps(trace.steps);
  std::map<std::string, double> counts;
  if (steps.empty()) return counts;
  const auto add = [&](const std::string& key, std::int64_t total) {
    counts[key] = static_cast<double>(total) / static_cast<double>(steps.size());
  };
  for (const auto& [key, total] : trace.info.counts) add(key, total);
  if (!trace.info.devices_are_threads && !times_phases_alone(trace)) {
    add("launch", count_launches(trace, steps));
  }
  return counts;
}

}  // namespace ddpprof

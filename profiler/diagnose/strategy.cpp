#include "profiler/diagnose/strategy.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

std::set<std::int64_t> steps_of(const Trace& trace) {
  std::set<std::int64_t> steps;
  for (const Step& step : order_steps(trace.steps)) steps.insert(step.index);
  return steps;
}

std::set<std::int64_t> find_lossy_steps(const Run& run) {
  std::set<std::int64_t> lossy;
  for (const Trace& trace : run.ranks) {
    for (const Step& step : trace.steps) {
      if (step.has_losses) lossy.insert(step.index);
    }
  }
  return lossy;
}

// Steps that have a window on every device of every rank and lost no record on any; the others are
// counted as issues.
std::set<std::int64_t> find_counted_steps(const Run& run,
                                          const std::vector<MeasuredDevice>& devices,
                                          std::vector<Issue>& issues) {
  std::map<std::int64_t, std::size_t> devices_by_step;
  for (const Trace& trace : run.ranks) {
    for (const std::int64_t step : steps_of(trace)) devices_by_step[step] = 0;
  }
  for (const MeasuredDevice& device : devices) {
    for (const Window& window : device.timeline.windows) ++devices_by_step[window.step];
  }
  const std::size_t lossy_count = std::erase_if(
      devices_by_step,
      [lossy = find_lossy_steps(run)](const auto& entry) { return lossy.contains(entry.first); });
  if (lossy_count > 0) {
    issues.push_back({"step-lossy", "steps lost records and are left out",
                      static_cast<std::int64_t>(lossy_count)});
  }
  std::set<std::int64_t> counted;
  for (const auto& [step, count] : devices_by_step) {
    if (count == devices.size()) counted.insert(step);
  }
  const auto dropped = static_cast<std::int64_t>(devices_by_step.size() - counted.size());
  if (dropped > 0) {
    issues.push_back(
        {"step-incomplete", "steps were not recorded by all ranks and are left out", dropped});
  }
  return counted;
}

void keep_counted(const std::set<std::int64_t>& counted, MeasuredDevice& device) {
  std::erase_if(device.steps,
                [&](const StepFigures& step) { return !counted.contains(step.step); });
  std::erase_if(device.timeline.windows,
                [&](const Window& window) { return !counted.contains(window.step); });
}

// A sum is absent as soon as one of its parts is.
void add_known(std::optional<std::int64_t>& sum, std::optional<std::int64_t> part) {
  if (sum && part) {
    *sum += *part;
  } else {
    sum.reset();
  }
}

template <typename Member>
std::optional<std::int64_t> sum_known(const std::vector<const StepFigures*>& steps,
                                      CollectiveFigures StepFigures::* subset, Member member,
                                      std::int64_t uncertainty_ns) {
  std::int64_t sum = 0, count = 0;
  for (const StepFigures* step : steps) {
    const CollectiveFigures& figures = step->*subset;
    if (!(figures.*member)) return std::nullopt;
    sum += *(figures.*member);
    count += figures.count;
  }
  // Each of the `count` values summed may be off by the uncertainty, all in the same direction.
  if (uncertainty_ns > 0 && sum < count * uncertainty_ns) return std::nullopt;
  return sum;
}

std::vector<const StepFigures*> all_steps(const MeasuredDevice& device) {
  std::vector<const StepFigures*> steps;
  for (const StepFigures& step : device.steps) steps.push_back(&step);
  return steps;
}

}  // namespace

const Window& MeasuredDevice::window_of(std::size_t step) const { return timeline.windows[step]; }

MeasuredRun measure_run(const Run& run, const std::string& subject) {
  MeasuredRun measured;
  measured.collectives = match_collectives(run);
  measured.issues = measured.collectives.issues;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    std::vector<DeviceTimeline> timelines = find_timelines(run.ranks[i]);
    for (std::size_t j = 0; j < timelines.size(); ++j) {
      MeasuredDevice device{.trace = i,
                            .rank = run.ranks[i].info.rank,
                            .device = static_cast<std::int32_t>(j),
                            .timeline = std::move(timelines[j]),
                            .steps = {}};
      device.steps = measure_steps(device.timeline, run.ranks[i], measured.collectives.timings[i],
                                   measured.collectives.are_known);
      device.timeline.segments.clear();  // of no use once they are summed
      std::ranges::copy(device.timeline.issues, std::back_inserter(measured.issues));
      measured.devices.push_back(std::move(device));
    }
  }
  const auto counted = find_counted_steps(run, measured.devices, measured.issues);
  if (counted.empty()) {
    if (!find_lossy_steps(run).empty()) {
      throw Error(subject, "every step that could be used lost records",
                  "record fewer steps at a time, or leave the recorder more memory and cores");
    }
    throw Error(subject,
                run.ranks.size() > 1 ? "no training step found that all ranks recorded"
                                     : "no training step found",
                "mark steps with ProfilerStep, or pass --steps N");
  }
  for (MeasuredDevice& device : measured.devices) keep_counted(counted, device);
  std::ranges::sort(measured.devices, {}, [](const MeasuredDevice& device) {
    return std::tuple(device.rank, device.device);
  });
  measured.critical = find_critical(measured.devices, measured.collectives.are_known,
                                    run.ranks.front().info.devices_are_threads);
  return measured;
}

std::vector<std::size_t> find_critical(const std::vector<MeasuredDevice>& devices,
                                       bool waits_are_known, bool devices_are_threads) {
  const bool is_one_process = devices.front().rank == devices.back().rank;
  const bool exposed_is_known = std::ranges::all_of(
      devices, [](const MeasuredDevice& device) { return device.timeline.compute.has_value(); });
  const auto cost_ns = [&](const StepFigures& step) {
    if (is_one_process && (devices_are_threads || !exposed_is_known)) return std::int64_t{0};
    if (!exposed_is_known) return step.collectives.wait_ns.value_or(step.collectives.total_ns);
    if (waits_are_known) return step.collectives.exposed_wait_ns.value_or(0);
    if (is_one_process) return std::int64_t{0};
    return step.communication_ns.value_or(0) - step.hidden_communication_ns.value_or(0);
  };
  std::vector<std::size_t> critical;
  for (std::size_t step = 0; step < devices.front().steps.size(); ++step) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < devices.size(); ++i) {
      if (cost_ns(devices[i].steps[step]) < cost_ns(devices[least].steps[step])) least = i;
    }
    critical.push_back(least);
  }
  return critical;
}

DeviceFigures sum_device(const std::vector<const StepFigures*>& steps) {
  DeviceFigures sum;
  sum.communication_ns = sum.hidden_communication_ns = sum.contention_ns = sum.spill_ns = 0;
  for (const StepFigures* step : steps) {
    ++sum.steps_count;
    sum.window_ns += step->window_ns;
    sum.breakdown.add(step->breakdown);
    add_known(sum.communication_ns, step->communication_ns);
    add_known(sum.hidden_communication_ns, step->hidden_communication_ns);
    add_known(sum.contention_ns, step->contention_ns);
    add_known(sum.spill_ns, step->spill_ns);
  }
  return sum;
}

AllReduceFigures sum_all_reduces(const std::vector<const StepFigures*>& steps,
                                 std::int32_t world_size, std::int64_t uncertainty_ns) {
  AllReduceFigures sum;
  sum.world_size = world_size;
  sum.hidden_ns = 0;
  for (const StepFigures* step : steps) {
    ++sum.steps_count;
    sum.count += step->gradient_all_reduces.count;
    sum.bytes += step->gradient_all_reduces.bytes;
    sum.total_ns += step->gradient_all_reduces.total_ns;
    add_known(sum.hidden_ns, step->gradient_all_reduces.hidden_ns);
  }
  const auto known = [&](auto member) {
    return sum_known(steps, &StepFigures::gradient_all_reduces, member, uncertainty_ns);
  };
  sum.exposed_wait_ns = known(&CollectiveFigures::exposed_wait_ns);
  sum.exposed_transfer_ns = known(&CollectiveFigures::exposed_transfer_ns);
  sum.wait_ns = known(&CollectiveFigures::wait_ns);
  sum.transfer_ns = known(&CollectiveFigures::transfer_ns);
  return sum;
}

std::vector<RankFigures> to_rank_figures(const MeasuredRun& measured, const Run& run) {
  const bool with_all_reduces = has_all_reduces(run);
  const std::int64_t uncertainty_ns = measured.collectives.uncertainty_ns;
  std::vector<RankFigures> rows;
  for (const MeasuredDevice& device : measured.devices) {
    const auto steps = all_steps(device);
    RankFigures row;
    row.rank = device.rank;
    row.device = device.device;
    row.device_name = device.timeline.device.name;
    row.figures = sum_device(steps);
    if (with_all_reduces) {
      row.all_reduce =
          sum_all_reduces(steps, run.ranks[device.trace].info.world_size, uncertainty_ns);
    }
    const auto known = [&](auto member) {
      return sum_known(steps, &StepFigures::collectives, member, uncertainty_ns);
    };
    row.wait_ns = known(&CollectiveFigures::wait_ns);
    row.transfer_ns = known(&CollectiveFigures::transfer_ns);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<const StepFigures*> critical_steps(const MeasuredRun& measured) {
  std::vector<const StepFigures*> steps;
  for (std::size_t i = 0; i < measured.critical.size(); ++i) {
    steps.push_back(&measured.devices[measured.critical[i]].steps[i]);
  }
  return steps;
}

std::int32_t find_critical_rank(const MeasuredRun& measured) {
  std::map<std::int32_t, std::int64_t> times_by_rank;
  for (const std::size_t device : measured.critical) ++times_by_rank[measured.devices[device].rank];
  return std::ranges::max_element(times_by_rank, {}, [](const auto& entry) { return entry.second; })
      ->first;
}

bool has_all_reduces(const Run& run) {
  return std::ranges::any_of(run.ranks, [](const Trace& trace) {
    return std::ranges::any_of(trace.collectives, is_gradient_all_reduce);
  });
}

}  // namespace ddpprof

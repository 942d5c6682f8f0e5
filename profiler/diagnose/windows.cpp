#include "profiler/diagnose/windows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

bool continues(const Step& step, const Step& next) {
  return next.visit == step.visit && next.index == step.index + 1;
}

// For each step the latest end of work on the main stream that was launched before it.
std::vector<std::int64_t> last_ends_before(const std::vector<Step>& steps,
                                           const std::vector<LaunchedWork>& work,
                                           std::optional<std::int64_t> main_stream) {
  std::vector<std::pair<std::int64_t, std::int64_t>> launch_and_end;
  for (const LaunchedWork& launched : work) {
    if (launched.work.stream == main_stream) {
      launch_and_end.emplace_back(launched.launched_ns, launched.work.span.end_ns);
    }
  }
  std::ranges::sort(launch_and_end);
  std::vector<std::int64_t> ends;
  std::int64_t latest = kBeforeRecording;
  std::size_t next = 0;
  for (const Step& step : steps) {
    for (; next < launch_and_end.size() && launch_and_end[next].first < step.span.begin_ns;
         ++next) {
      latest = std::max(latest, launch_and_end[next].second);
    }
    ends.push_back(latest);
  }
  return ends;
}

void add_spill(const std::vector<Step>& steps, const std::vector<LaunchedWork>& work,
               std::optional<std::int64_t> main_stream, std::vector<Window>& windows) {
  std::vector<std::vector<Span>> spilled(steps.size());
  for (const LaunchedWork& launched : work) {
    if (launched.work.stream == main_stream) continue;
    const auto step = find_launching_step(steps, launched.launched_ns);
    if (!step) continue;
    const Span rest{std::max(launched.work.span.begin_ns, windows[*step].span.end_ns),
                    launched.work.span.end_ns};
    if (!rest.empty()) spilled[*step].push_back(rest);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    windows[i].spill_ns = length_ns(unite(std::move(spilled[i])));
  }
}

}  // namespace

std::optional<std::size_t> find_launching_step(const std::vector<Step>& steps,
                                               std::int64_t launched_ns) {
  const auto after = std::ranges::partition_point(
      steps, [&](const Step& step) { return step.span.begin_ns <= launched_ns; });
  if (after == steps.begin()) return std::nullopt;
  const auto step = static_cast<std::size_t>(after - steps.begin()) - 1;
  // Time between two steps of a row belongs to the first of them.
  if (launched_ns < steps[step].span.end_ns) return step;
  if (step + 1 < steps.size() && continues(steps[step], steps[step + 1])) return step;
  return std::nullopt;
}

std::vector<Step> order_steps(std::vector<Step> steps) {
  std::ranges::sort(steps, {},
                    [](const Step& step) { return std::tuple(step.span, step.index, step.visit); });
  std::vector<Step> ordered;
  for (const Step& step : steps) {
    if (step.span.empty()) continue;
    if (ordered.empty() || ordered.back().index < step.index) ordered.push_back(step);
  }
  return ordered;
}

std::vector<Window> find_device_windows(const std::vector<Step>& steps,
                                        const std::vector<LaunchedWork>& work,
                                        std::optional<std::int64_t> main_stream) {
  const std::vector<std::int64_t> last_ends = last_ends_before(steps, work, main_stream);
  std::vector<std::int64_t> ends_of_work(steps.size(), kBeforeRecording);
  for (const LaunchedWork& launched : work) {
    if (const auto step = find_launching_step(steps, launched.launched_ns)) {
      ends_of_work[*step] = std::max(ends_of_work[*step], launched.work.span.end_ns);
    }
  }
  const auto begin_of = [&](std::size_t i) {
    return std::max(steps[i].span.begin_ns, last_ends[i]);
  };
  std::vector<Window> windows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::int64_t end = std::max(steps[i].span.end_ns, ends_of_work[i]);
    if (i + 1 < steps.size()) {
      const std::int64_t next = begin_of(i + 1);
      // A row may leave work behind on another stream that is still running when the next row
      // begins: no instant is in two windows, so that work spills.
      end = continues(steps[i], steps[i + 1]) ? next : std::min(end, next);
    }
    windows.push_back({.step = steps[i].index,
                       .visit = steps[i].visit,
                       .span = {begin_of(i), std::max(begin_of(i), end)}});
  }
  add_spill(steps, work, main_stream, windows);
  return windows;
}

std::vector<Window> find_thread_windows(const std::vector<Step>& steps) {
  std::vector<Window> windows;
  for (const Step& step : steps) {
    windows.push_back({.step = step.index, .visit = step.visit, .span = step.span});
  }
  return windows;
}

}  // namespace ddpprof

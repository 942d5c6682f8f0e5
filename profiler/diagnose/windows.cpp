#include "profiler/diagnose/windows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

bool continues(const Step& step, const Step& next) {
  return next.visit == step.visit && next.index == step.index + 1;
}

// The latest ends of work by the step of its launch.
struct LastEnds {
  std::vector<std::int64_t> before;  // on the main stream, launched before the step
  std::vector<std::int64_t> of;      // on any stream, launched in the step
};

LastEnds find_last_ends(const std::vector<Step>& steps, const std::vector<LaunchedWork>& work,
                        std::optional<std::int64_t> main_stream) {
  StepFinder finder(steps);
  // `before` first holds what was launched since the step before began; last: since the last did.
  LastEnds ends{.before = std::vector<std::int64_t>(steps.size() + 1, kBeforeRecording),
                .of = std::vector<std::int64_t>(steps.size(), kBeforeRecording)};
  const auto raise = [](std::int64_t& end_ns, const LaunchedWork& launched) {
    end_ns = std::max(end_ns, launched.span.end_ns);
  };
  for (const LaunchedWork& launched : work) {
    if (launched.stream == main_stream) {
      raise(ends.before[finder.count_begun(launched.launched_ns)], launched);
    }
    if (const auto step = finder.find(launched.launched_ns)) raise(ends.of[*step], launched);
  }
  for (std::size_t i = 1; i < ends.before.size(); ++i) {
    ends.before[i] = std::max(ends.before[i], ends.before[i - 1]);
  }
  return ends;
}

void add_spill(const std::vector<Step>& steps, const std::vector<LaunchedWork>& work,
               std::optional<std::int64_t> main_stream, std::vector<Window>& windows) {
  StepFinder finder(steps);
  std::vector<std::vector<Span>> spilled(steps.size());
  for (const LaunchedWork& launched : work) {
    if (launched.stream == main_stream) continue;
    const auto step = finder.find(launched.launched_ns);
    if (!step) continue;
    const Span rest{std::max(launched.span.begin_ns, windows[*step].span.end_ns),
                    launched.span.end_ns};
    if (!rest.empty()) spilled[*step].push_back(rest);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    windows[i].spill_ns = length_ns(unite(std::move(spilled[i])));
  }
}

}  // namespace

std::size_t StepFinder::count_begun(std::int64_t time_ns) {
  return cursor_.find(steps_, [&](const Step& step) { return step.span.begin_ns <= time_ns; });
}

std::optional<std::size_t> StepFinder::find(std::int64_t launched_ns) {
  const std::size_t begun = count_begun(launched_ns);
  if (begun == 0) return std::nullopt;
  const std::size_t step = begun - 1;
  // Time between two steps of a row belongs to the first of them.
  if (launched_ns < steps_[step].span.end_ns) return step;
  if (begun < steps_.size() && continues(steps_[step], steps_[begun])) return step;
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
  const LastEnds last_ends = find_last_ends(steps, work, main_stream);
  const auto begin_of = [&](std::size_t i) {
    return std::max(steps[i].span.begin_ns, last_ends.before[i]);
  };
  std::vector<Window> windows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::int64_t end = std::max(steps[i].span.end_ns, last_ends.of[i]);
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

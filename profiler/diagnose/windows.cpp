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
  StepFinder finder(steps);
  // Of work launched after the step before has begun, and at the end of work after the last.
  std::vector<std::int64_t> ends(steps.size() + 1, kBeforeRecording);
  for (const LaunchedWork& launched : work) {
    if (launched.stream != main_stream) continue;
    std::int64_t& end = ends[finder.count_begun(launched.launched_ns)];
    end = std::max(end, launched.span.end_ns);
  }
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] = std::max(ends[i], ends[i - 1]);
  return ends;
}

// For each step the latest end of work on any stream that was launched in it.
std::vector<std::int64_t> last_ends_of(const std::vector<Step>& steps,
                                       const std::vector<LaunchedWork>& work) {
  StepFinder finder(steps);
  std::vector<std::int64_t> ends(steps.size(), kBeforeRecording);
  for (const LaunchedWork& launched : work) {
    const auto step = finder.find(launched.launched_ns);
    if (step) ends[*step] = std::max(ends[*step], launched.span.end_ns);
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
  const std::vector<std::int64_t> last_ends = last_ends_before(steps, work, main_stream);
  const std::vector<std::int64_t> ends_of_work = last_ends_of(steps, work);
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

#include "profiler/diagnose/contention.h"

#include "profiler/diagnose/cursor.h"

#include <algorithm>
#include <cstddef>

namespace ddpprof {
namespace {

// Of an even number the mean of the middle two, rounded down.
// Shape: not empty, in any order; changes the order.
std::int64_t median_ns(std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  const std::int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

// Compute kernels by whether any of them runs beside communication.
struct Kernels {
  std::vector<const LaunchedWork*> under;
  std::vector<std::vector<std::int64_t>> lengths_elsewhere;  // by NameId, up to the last there is
};

Kernels split_kernels(const std::vector<LaunchedWork>& work, const SpanSet& communication) {
  Kernels kernels;
  Cursor cursor;
  for (const LaunchedWork& launched : work) {
    if (launched.activity != Activity::compute) continue;
    const std::size_t next = cursor.find(
        communication, [&](const Span& span) { return span.end_ns <= launched.span.begin_ns; });
    if (next < communication.size() && communication[next].begin_ns < launched.span.end_ns) {
      kernels.under.push_back(&launched);
      continue;
    }
    auto& lengths = kernels.lengths_elsewhere;
    if (lengths.size() <= launched.name.index) lengths.resize(launched.name.index + std::size_t{1});
    lengths[launched.name.index].push_back(launched.span.length_ns());
  }
  return kernels;
}

}  // namespace

std::optional<std::vector<std::int64_t>> find_contention(const std::vector<LaunchedWork>& work,
                                                         const SpanSet& communication,
                                                         const std::vector<Window>& windows) {
  std::vector<std::int64_t> contention_ns(windows.size(), 0);
  if (communication.empty()) return contention_ns;
  auto [under, lengths_elsewhere] = split_kernels(work, communication);
  if (under.empty()) return contention_ns;
  std::vector<std::optional<std::int64_t>> medians_ns(lengths_elsewhere.size());
  for (std::size_t name = 0; name < lengths_elsewhere.size(); ++name) {
    auto& lengths = lengths_elsewhere[name];
    if (!lengths.empty()) medians_ns[name] = median_ns(lengths);
  }
  bool has_twin = false;
  Cursor cursor;
  for (const LaunchedWork* kernel : under) {
    const std::size_t name = kernel->name.index;
    if (name >= medians_ns.size() || !medians_ns[name]) continue;
    has_twin = true;
    const std::int64_t time_ns = kernel->span.begin_ns;
    const std::size_t window = cursor.find(
        windows, [&](const Window& candidate) { return candidate.span.end_ns <= time_ns; });
    if (window == windows.size() || !windows[window].span.contains(time_ns)) continue;
    contention_ns[window] += kernel->span.length_ns() - *medians_ns[name];
  }
  if (!has_twin) return std::nullopt;
  return contention_ns;
}

}  // namespace ddpprof

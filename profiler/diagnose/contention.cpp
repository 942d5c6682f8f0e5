#include "profiler/diagnose/contention.h"

#include <algorithm>
#include <map>

namespace ddpprof {
namespace {

bool touches(const SpanSet& set, Span span) {
  const auto found = std::ranges::partition_point(
      set, [&](const Span& candidate) { return candidate.end_ns <= span.begin_ns; });
  return found != set.end() && found->begin_ns < span.end_ns;
}

// Of an even number the mean of the middle two, rounded down.
std::int64_t median_ns(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

void book(std::int64_t time_ns, std::int64_t ns, const std::vector<Window>& windows,
          std::vector<std::int64_t>& booked) {
  const auto window = std::ranges::partition_point(
      windows, [&](const Window& candidate) { return candidate.span.end_ns <= time_ns; });
  if (window == windows.end() || !window->span.contains(time_ns)) return;
  booked[static_cast<std::size_t>(window - windows.begin())] += ns;
}

}  // namespace

std::optional<std::vector<std::int64_t>> find_contention(const std::vector<LaunchedWork>& work,
                                                         const SpanSet& communication,
                                                         const std::vector<Window>& windows) {
  std::map<NameId, std::vector<std::int64_t>> elsewhere;
  std::vector<const Work*> under;
  for (const LaunchedWork& launched : work) {
    if (launched.work.activity != Activity::compute) continue;
    if (touches(communication, launched.work.span)) {
      under.push_back(&launched.work);
    } else {
      elsewhere[launched.work.name].push_back(launched.work.span.length_ns());
    }
  }
  std::map<NameId, std::int64_t> medians;
  for (auto& [name, lengths] : elsewhere) medians[name] = median_ns(lengths);

  std::vector<std::int64_t> booked(windows.size(), 0);
  bool has_twin = under.empty();
  for (const Work* kernel : under) {
    const auto twin = medians.find(kernel->name);
    if (twin == medians.end()) continue;
    has_twin = true;
    book(kernel->span.begin_ns, kernel->span.length_ns() - twin->second, windows, booked);
  }
  if (!has_twin) return std::nullopt;
  return booked;
}

}  // namespace ddpprof

#include "profiler/diagnose/breakdown.h"

#include <numeric>

namespace ddpprof {

std::size_t Breakdown::index_of(const Label& label) {
  const auto phase = static_cast<std::size_t>(label.phase);
  const std::size_t activity =
      label.activity ? static_cast<std::size_t>(*label.activity) : kActivities - 1;
  const std::size_t kind = label.kind ? static_cast<std::size_t>(*label.kind) : kKinds - 1;
  return (phase * kActivities + activity) * kKinds + kind;
}

void Breakdown::add(const Label& label, std::int64_t ns) { ns_[index_of(label)] += ns; }

void Breakdown::add(const Breakdown& other) {
  for (std::size_t i = 0; i < ns_.size(); ++i) ns_[i] += other.ns_[i];
}

std::int64_t Breakdown::operator[](const Label& label) const { return ns_[index_of(label)]; }

std::int64_t Breakdown::of(Phase phase) const {
  const auto first =
      ns_.begin() + static_cast<std::ptrdiff_t>(index_of({phase, Activity{}, StallKind{}}));
  return std::accumulate(first, first + static_cast<std::ptrdiff_t>(kActivities * kKinds),
                         std::int64_t{0});
}

std::int64_t Breakdown::of(Activity activity) const {
  std::int64_t sum = 0;
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
    const std::size_t first = index_of({static_cast<Phase>(phase), activity, StallKind{}});
    for (std::size_t kind = 0; kind < kKinds; ++kind) sum += ns_[first + kind];
  }
  return sum;
}

std::int64_t Breakdown::total_ns() const {
  return std::accumulate(ns_.begin(), ns_.end(), std::int64_t{0});
}

std::vector<Label> Breakdown::labels() const {
  std::vector<Label> labels;
  for (std::size_t i = 0; i < ns_.size(); ++i) {
    if (ns_[i] == 0) continue;
    const std::size_t kind = i % kKinds;
    const std::size_t activity = i / kKinds % kActivities;
    Label label{.phase = static_cast<Phase>(i / kKinds / kActivities), .activity = {}, .kind = {}};
    if (activity + 1 < kActivities) label.activity = static_cast<Activity>(activity);
    if (kind + 1 < kKinds) label.kind = static_cast<StallKind>(kind);
    labels.push_back(label);
  }
  return labels;
}

Breakdown break_down(std::span<const Segment> segments) {
  Breakdown table;
  for (const Segment& segment : segments) table.add(segment.label, segment.span.length_ns());
  return table;
}

}  // namespace ddpprof

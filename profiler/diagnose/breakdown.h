// The table ns[phase][activity][kind] of one step on one device: what all labelled pieces of a
// window add up to.
#pragma once

#include "profiler/trace/labels.h"
#include "profiler/trace/span.h"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ddpprof {

// One key of the table. `activity` is absent where only phases were timed; `kind` is absent unless
// the activity is a stall on a device whose launches are known.
struct Label {
  Phase phase = Phase::other;
  std::optional<Activity> activity;
  std::optional<StallKind> kind;

  auto operator<=>(const Label&) const = default;
};

// A labelled piece of a window.
struct Segment {
  Span span;
  Label label;

  bool operator==(const Segment&) const = default;
};

// Sums of nanoseconds by label; of one step or of many.
class Breakdown {
 public:
  void add(const Label& label, std::int64_t ns);
  void add(const Breakdown& other);
  std::int64_t operator[](const Label& label) const;
  std::int64_t of(Phase phase) const;        // over all activities and kinds
  std::int64_t of(Activity activity) const;  // over all phases and kinds
  std::int64_t total_ns() const;

  // Labels with a sum that is not 0, in the order of the enumerations (absent comes last).
  std::vector<Label> labels() const;

  bool operator==(const Breakdown&) const = default;

 private:
  static constexpr std::size_t kActivities = kActivityNames.size() + 1;  // + absent
  static constexpr std::size_t kKinds = kStallKindNames.size() + 1;      // + absent
  static std::size_t index_of(const Label& label);
  std::array<std::int64_t, kPhaseNames.size() * kActivities * kKinds> ns_{};
};

// The sum of the segments by label. Segments that cover a window give a table whose total is the
// window's length.
Breakdown break_down(std::span<const Segment> segments);

}  // namespace ddpprof

#include "profiler/trace/labels.h"

#include <algorithm>

namespace ddpprof {
namespace {

template <typename Enum, std::size_t Count>
std::optional<Enum> find_name(const std::array<std::string_view, Count>& names,
                              std::string_view text) {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

std::optional<Activity> parse_activity(std::string_view text) {
  return find_name<Activity>(kActivityNames, text);
}

std::optional<StallKind> parse_stall_kind(std::string_view text) {
  return find_name<StallKind>(kStallKindNames, text);
}

std::optional<Phase> parse_phase(std::string_view text) {
  return find_name<Phase>(kPhaseNames, text);
}

}  // namespace ddpprof

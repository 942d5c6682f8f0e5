#include "profiler/trace/trace.h"

#include <algorithm>
#include <iterator>

namespace ddpprof {

std::optional<CollectiveKind> parse_collective_kind(std::string_view text) {
  const auto found = std::ranges::find(kCollectiveKindNames, text);
  if (found == std::end(kCollectiveKindNames)) return std::nullopt;
  return static_cast<CollectiveKind>(found - std::begin(kCollectiveKindNames));
}

NameTable::NameTable(std::vector<std::string>& names) : names_(names) {
  for (std::uint32_t i = 0; i < names.size(); ++i) index_.emplace(names[i], i);
}

NameId NameTable::intern(std::string_view name) {
  if (const auto found = index_.find(name); found != index_.end()) return {found->second};
  const auto id = static_cast<std::uint32_t>(names_.size());
  names_.emplace_back(name);
  index_.emplace(name, id);
  return {id};
}

std::int32_t device_number(const TraceInfo& info, std::int32_t device) {
  const auto position = static_cast<std::size_t>(device);
  return device >= 0 && position < info.devices.size()
             ? info.devices[position].number.value_or(device)
             : device;
}

}  // namespace ddpprof

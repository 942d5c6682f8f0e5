#include "profiler/trace/trace.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ddpprof {

namespace {

template <typename Enum, std::size_t Count>
std::optional<Enum> find_name(const std::string_view (&names)[Count], std::string_view text) {
  const auto* const found = std::ranges::find(names, text);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

}  // namespace

std::optional<CollectiveKind> parse_collective_kind(std::string_view text) {
  return find_name<CollectiveKind>(kCollectiveKindNames, text);
}

std::optional<ElementType> parse_element_type(std::string_view text) {
  return find_name<ElementType>(kElementTypeNames, text);
}

std::int64_t element_bytes(ElementType type) {
  constexpr std::int64_t kBytes[] = {4, 8, 2, 2, 4, 8, 2, 1, 1, 1};
  return kBytes[static_cast<std::size_t>(type)];
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

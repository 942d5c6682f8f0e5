#include "profiler/record/device_records.h"

#include <functional>

namespace ddpprof {

std::uint32_t DeviceRecords::intern(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>{}(text);
  const auto [first, last] = index_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    if (names[entry->second] == text) return entry->second;
  }
  const auto id = static_cast<std::uint32_t>(names.size());
  names.emplace_back(text);
  index_.emplace(hash, id);
  return id;
}

}  // namespace ddpprof

// Times as trace files write them, read without going through double, which cannot hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpprof {

// A JSON number of microseconds, "12.345" or "1.2e3", as nanoseconds. Decimals beyond the third
// are rounded, halves away from zero. Absent when it is no number or does not fit.
std::optional<std::int64_t> parse_microseconds(std::string_view number);

}  // namespace ddpprof

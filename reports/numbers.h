// How reports and progress write numbers for people. Absent numbers become an em dash.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddpprof {

inline constexpr const char* kUnmeasured = "\u2014";

// Three significant digits, never scientific below 10^9: "1.23", "12.3", "123", "1,234", "0.012".
std::string number_text(std::optional<double> value);

inline constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

// "1,797".
std::string count_text(std::optional<std::int64_t> value);

// 0.123 -> "12 %"; below one percent one more digit: "0.4 %"; below 0.05 % and not zero: "<0.1 %".
std::string share_text(std::optional<double> share);

// "480 ms", "12 s", "3 min 20 s".
std::string duration_text(double seconds);

}  // namespace ddpprof

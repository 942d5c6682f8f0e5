// Texts that come from anywhere, for files that want UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddpprof {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Length of the valid UTF-8 sequence at the front of `text`, which is not empty; 0 when there is
// none. Source: Unicode 15, table 3-7 (no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text);

// With U+FFFD for each byte that is no UTF-8, and for NUL, at which many readers end a text.
std::string repaired_utf8(std::string_view text);

}  // namespace ddpprof

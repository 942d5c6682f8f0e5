// Gzip in memory.
#pragma once

#include <string>
#include <string_view>

namespace ddpprof {

// Whether the content starts with gzip's magic bytes.
bool is_gzip(std::string_view content);

// All members, one after the other. Zero bytes behind the last are padding and ignored.
// Throws Error about `subject` when the data is damaged, ends too early, or is more than
// `max_bytes` long.
std::string decompress_gzip(std::string_view compressed, std::size_t max_bytes,
                            const std::string& subject);

// No name and no time inside: equal content gives equal bytes.
std::string compress_gzip(std::string_view content);

// CRC-32 as gzip and zlib have it, of a text that goes on: `crc` is that of what came before, 0 of
// nothing.
std::uint32_t crc32_of(std::string_view content, std::uint32_t crc = 0);

}  // namespace ddpprof

// Whole files in and out, plain or gzip.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ddpprof {

// The content of a file, decompressed when it starts with gzip's magic bytes (several members are
// read as one). Throws Error when it cannot be opened, read or decompressed to its end.
std::string read_file(const std::filesystem::path& path);

// Writes a temporary file beside `path`, then renames it: a reader sees the old content or the new
// one, never a part. Compresses when `path` ends in ".gz" (no time stamp inside: equal content
// gives equal bytes). Throws Error; nothing is left behind then.
void write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace ddpprof

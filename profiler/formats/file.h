// Whole files in and out, plain or gzip.
#pragma once

#include <filesystem>
#include <memory>
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

// The same for what is written piece by piece, never compressed: nothing is seen at `path` before
// commit(), and without it the temporary file is removed. All throw Error.
class FileReplacement {
 public:
  explicit FileReplacement(const std::filesystem::path& path);
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  void append(std::string_view content);
  void commit();  // once, at the end

 private:
  class Temporary;
  const std::filesystem::path target_;
  std::unique_ptr<Temporary> file_;  // null once committed
};

}  // namespace ddpprof

// The folder a run leaves behind.
//   run.json  report.json  traces/<strategy>_rank<r>.json.gz  logs/<strategy>_rank<r>.log
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ddpprof {

class RunDirectory {
 public:
  // Makes `path` and its folders, and proves that it can be written.
  // Throws Error when it cannot; when it holds a run or anything that is not a run's, unless
  // `force`. Files of an older or a failed run are removed first, known by their names; nothing
  // else is touched.
  RunDirectory(std::filesystem::path path, bool force);

  // Takes back what was written, and the folders where they are empty then.
  void discard() noexcept;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }
  // Relative to path().
  static std::filesystem::path trace(const std::string& strategy, std::int32_t rank);
  static std::filesystem::path log(const std::string& strategy, std::int32_t rank);

 private:
  std::filesystem::path path_;
};

// The run.json of a run that is whole.
// Throws Error when the folder holds none.
std::filesystem::path run_file(const std::filesystem::path& folder);

}  // namespace ddpprof

#include "tools/run_directory.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHint = "choose another folder with --out DIR";
constexpr std::array<std::string_view, 4> kOwn = {"run.json", "report.json", "traces", "logs"};

void check_free(const fs::path& path, bool force) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) {
    throw Error(path.string(), "is not a folder", std::string(kHint));
  }
  if (force) return;
  if (fs::exists(path / "run.json") || fs::exists(path / "report.json")) {
    throw Error(path.string(), "already holds a run",
                "choose another folder with --out DIR, or overwrite it with --force");
  }
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    if (std::ranges::find(kOwn, name) == kOwn.end()) {
      throw Error(path.string(), "is not empty and holds no run (" + name + ")",
                  "choose another folder with --out DIR, or write into it with --force");
    }
  }
  if (error) throw Error(path.string(), "cannot be read: " + error.message(), std::string(kHint));
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, bool force) : path_(std::move(path)) {
  check_free(path_, force);
  std::error_code error;
  // A failed run leaves logs and traces: they make way, too.
  for (const std::string_view name : kOwn) fs::remove_all(path_ / name, error);
  for (const char* folder : {"traces", "logs"}) {
    if (!error) fs::create_directories(path_ / folder, error);
  }
  if (!error && access(path_.c_str(), W_OK | X_OK) != 0) {
    error = std::error_code(errno, std::generic_category());
  }
  if (error) {
    throw Error(path_.string(), "cannot be written: " + error.message(), std::string(kHint));
  }
}

fs::path RunDirectory::trace(const std::string& strategy, std::int32_t rank) {
  return fs::path("traces") / (strategy + "_rank" + std::to_string(rank) + ".json.gz");
}

fs::path RunDirectory::log(const std::string& strategy, std::int32_t rank) {
  return fs::path("logs") / (strategy + "_rank" + std::to_string(rank) + ".log");
}

}  // namespace ddpprof

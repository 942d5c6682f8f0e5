#include "tools/run_directory.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHint = "choose another folder with --out DIR";

// "ddp_rank1.log": what a run calls the files of its processes.
bool is_rank_file(const std::string& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  const std::string stem = name.substr(0, name.size() - suffix.size());
  const std::size_t rank = stem.find("_rank");
  if (rank == std::string::npos) return false;
  const std::string strategy = stem.substr(0, rank);
  const std::string digits = stem.substr(rank + 5);
  return (strategy == "single" || strategy == "dp" || strategy == "ddp") && !digits.empty() &&
         digits.find_first_not_of("0123456789") == std::string::npos;
}

// What is in the folder: files that only a run writes, and anything else.
struct Content {
  std::vector<fs::path> own;
  std::vector<fs::path> foreign;
};

Content look_into(const fs::path& path) {
  Content content;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename();
    const bool is_folder = entry.is_directory(error);
    if (!is_folder || (name != "traces" && name != "logs")) {
      const bool is_own = !is_folder && (name == "run.json" || name == "report.json");
      (is_own ? content.own : content.foreign).push_back(entry.path());
      continue;
    }
    for (const auto& inner : fs::directory_iterator(entry.path(), error)) {
      const bool is_own =
          inner.is_regular_file(error) &&
          is_rank_file(inner.path().filename(), name == "logs" ? ".log" : ".json.gz");
      (is_own ? content.own : content.foreign).push_back(inner.path());
    }
  }
  if (error) throw Error(path.string(), "cannot be read: " + error.message(), std::string(kHint));
  std::ranges::sort(content.foreign);
  return content;
}

void check_free(const fs::path& path, const Content& content) {
  if (fs::exists(path / "run.json") || fs::exists(path / "report.json")) {
    throw Error(path.string(), "already holds a run",
                "choose another folder with --out DIR, or overwrite it with --force");
  }
  if (!content.foreign.empty()) {
    throw Error(path.string(),
                "holds files that are not a run's (" +
                    content.foreign.front().lexically_relative(path).string() + ")",
                "choose another folder with --out DIR, or write beside them with --force");
  }
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, bool force) : path_(std::move(path)) {
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) {
      throw Error(path_.string(), "is not a folder", std::string(kHint));
    }
    const Content content = look_into(path_);
    if (!force) check_free(path_, content);
    // Also what a failed run left, its logs and traces.
    for (const fs::path& file : content.own) fs::remove(file, error);
  }
  error.clear();
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

void RunDirectory::discard() noexcept try {
  std::error_code error;
  for (const fs::path& file : look_into(path_).own) fs::remove(file, error);
  for (const fs::path& folder : {path_ / "traces", path_ / "logs", path_})
    fs::remove(folder, error);
} catch (const std::exception&) {
  return;  // what cannot be looked into stays
}

fs::path RunDirectory::trace(const std::string& strategy, std::int32_t rank) {
  return fs::path("traces") / (strategy + "_rank" + std::to_string(rank) + ".json.gz");
}

fs::path RunDirectory::log(const std::string& strategy, std::int32_t rank) {
  return fs::path("logs") / (strategy + "_rank" + std::to_string(rank) + ".log");
}

fs::path run_file(const fs::path& folder) {
  const fs::path file = folder / "run.json";
  if (!fs::exists(file)) {
    throw Error(folder.string(), "holds no whole run: there is no run.json in it",
                "name a folder that ddpprof compare made, or a trace");
  }
  return file;
}

}  // namespace ddpprof

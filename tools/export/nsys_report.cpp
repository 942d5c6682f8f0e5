#include "tools/export/nsys_report.h"

#include "profiler/formats/file.h"
#include "profiler/trace/error.h"
#include "tools/launcher/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImporter = "ImportNvtxt";
constexpr const char* kHostFolder = "host-linux-x64";

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> importer_in(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    if (is_program(folder / kImporter)) return folder / kImporter;
  }
  return std::nullopt;
}

std::optional<fs::path> find_program(std::string_view search_path, const char* name) {
  while (!search_path.empty()) {
    const std::size_t colon = search_path.find(':');
    fs::path path = fs::path(search_path.substr(0, colon)) / name;
    if (is_program(path)) return path;
    search_path.remove_prefix(colon == search_path.npos ? search_path.size() : colon + 1);
  }
  return std::nullopt;
}

// Folders in `folder` whose names begin with `prefix`, the newest version first.
std::vector<fs::path> folders_in(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (entry.is_directory(ignored) && entry.path().filename().string().starts_with(prefix)) {
      found.push_back(entry.path());
    }
  }
  std::ranges::sort(found, [](const fs::path& a, const fs::path& b) {
    return strverscmp(a.filename().c_str(), b.filename().c_str()) > 0;
  });
  return found;
}

// Beside the file that comes about in it, gone at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& target)
      : path_(fs::path(target).concat(fmt::format(".{}.tmp", getpid()))) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) throw Error(target.string(), "cannot be written: " + error.message());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  fs::path file(const std::string& name) const { return path_ / name; }

 private:
  const fs::path path_;
};

// In the child. The importer finds its libraries in its own folder alone.
[[noreturn]] void become(const std::vector<std::string>& command, const fs::path& log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int none = open("/dev/null", O_RDONLY);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (none < 0 || out < 0) _exit(127);
  dup2(none, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  setenv("LD_LIBRARY_PATH", fs::path(command.front()).parent_path().c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments.front(), arguments.data());
  _exit(127);
}

// Its wait status.
int run(const std::vector<std::string>& command, const fs::path& log) {
  const pid_t child = fork();
  if (child < 0) {
    throw Error(command.front(), "cannot be started: " + std::generic_category().message(errno));
  }
  if (child == 0) become(command, log);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

std::vector<fs::path> nsight_folders() {
  return {"/opt/nvidia", "/usr/local/cuda", "/usr/lib/nsight-systems"};
}

std::optional<fs::path> find_importer(std::string_view search_path,
                                      const std::vector<fs::path>& folders) {
  if (const auto nsys = find_program(search_path, "nsys")) {
    std::error_code error;
    const fs::path folder = fs::canonical(*nsys, error).parent_path();
    const auto found =
        importer_in({folder, folder / kHostFolder, folder.parent_path() / kHostFolder});
    if (found) return found;
  }
  for (const fs::path& folder : folders) {
    std::vector<fs::path> places;
    for (const fs::path& product : folders_in(folder, "nsight-systems")) {
      for (const fs::path& version : folders_in(product, "")) {
        places.push_back(version / kHostFolder);
      }
      places.push_back(product / kHostFolder);
    }
    places.push_back(folder / kHostFolder);
    if (const auto found = importer_in(places)) return found;
  }
  return std::nullopt;
}

void import_nvtxt(const fs::path& importer, const std::string& text, const fs::path& report) {
  const ScratchFolder scratch(report);
  const fs::path given = scratch.file(report.stem().string() + ".nvtxt");
  const fs::path made = scratch.file("made.nsys-rep");
  const fs::path log = scratch.file("log");
  write_file(given, text);
  const int status = run({fs::absolute(importer).string(), "--cmd", "create", "-n",
                          fs::absolute(given).string(), "-o", fs::absolute(made).string()},
                         log);
  std::error_code error;
  const bool is_made = fs::is_regular_file(made, error) && fs::file_size(made, error) > 0;
  if (status != 0 || !is_made) {
    const std::string why = status != 0 ? exit_text(status) : "it wrote nothing";
    throw Error(importer.string(), "made no report: " + why,
                fmt::format("its last words: {}", fmt::join(last_lines(log, 3), " / ")));
  }
  fs::rename(made, report, error);
  if (error) throw Error(report.string(), "cannot be written: " + error.message());
}

std::string import_command(const fs::path& text, const fs::path& report) {
  return fmt::format("LD_LIBRARY_PATH=$D $D/{} --cmd create -n {} -o {}", kImporter, text.string(),
                     report.string());
}

}  // namespace ddpprof

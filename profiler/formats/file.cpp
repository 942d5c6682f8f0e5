#include "profiler/formats/file.h"

#include "profiler/formats/gzip.h"
#include "profiler/trace/error.h"

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

// What the JSON reader can address.
// Source: simdjson 3.0.1, SIMDJSON_MAXSIZE_BYTES = 0xFFFFFFFF, less its padding.
constexpr std::size_t kMaxContentBytes = 0xFFFFFFFF - 64;

// Room behind the text that the JSON reader wants, so that it need not copy the whole.
constexpr std::size_t kSpareBytes = 64;

class File {
 public:
  File(const fs::path& path, int flags)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // Network file systems report a full disk only here.
  bool close() { return descriptor_ < 0 || ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

std::string hint_for(int error) {
  switch (error) {
    case ENOENT:
      return "create the folder first, or check the name";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a place this user may write to, or change its permissions";
    case ENOSPC:
    case EDQUOT:
      return "free some space, or choose another place";
    case EFBIG:
      return "the limit on file sizes is too low (ulimit -f)";
    default:
      return {};
  }
}

[[noreturn]] void fail(const fs::path& path, std::string_view what, int error,
                       const std::string& hint) {
  throw Error(path.string(), fmt::format("{}: {}", what, std::generic_category().message(error)),
              hint);
}

[[noreturn]] void fail_read(const fs::path& path, int error) {
  fail(path, "cannot be read", error, error == ENOENT ? "check the name" : "");
}

[[noreturn]] void fail_too_large(const fs::path& path) {
  throw Error(path.string(), "holds more than 4 GB", "record or export fewer steps");
}

std::string read_raw(const fs::path& path) {
  File file(path, O_RDONLY);
  struct stat status{};
  if (!file.is_open() || ::fstat(file.descriptor(), &status) != 0) fail_read(path, errno);
  if (S_ISDIR(status.st_mode)) throw Error(path.string(), "is a folder, not a file");
  const auto size = S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
  if (size > kMaxContentBytes) fail_too_large(path);

  // The size is a guess only: files in /proc have none, others grow.
  std::string content;
  std::size_t used = 0;
  content.reserve(size + kSpareBytes);
  content.resize(size + 1);
  for (;;) {
    if (used == content.size()) content.resize(content.size() * 2 + 4096);
    const ssize_t count = ::read(file.descriptor(), content.data() + used, content.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_read(path, errno);
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
    if (used > kMaxContentBytes) fail_too_large(path);
  }
  content.resize(used);
  return content;
}

void write_all(const File& file, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t count = ::write(file.descriptor(), content.data(), content.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "cannot be written", errno, hint_for(errno));
    content.remove_prefix(static_cast<std::size_t>(count));
  }
}

// A pipe or a device cannot be renamed onto.
void write_special(const fs::path& path, std::string_view content) {
  File file(path, O_WRONLY);
  if (!file.is_open()) fail(path, "cannot be written", errno, hint_for(errno));
  write_all(file, content, path);
  if (!file.close()) fail(path, "cannot be written", errno, hint_for(errno));
}

// No two writers share it, neither threads nor processes. One that exists was left behind by a
// process that was killed.
fs::path find_name_beside(const fs::path& target) {
  static std::atomic<unsigned> count = 0;
  for (;;) {
    const auto path = fs::path(target).concat(fmt::format(".{}-{}.tmp", ::getpid(), count++));
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return path;
  }
}

// Through a link to what it points to: the link stays.
fs::path follow_link(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? fs::canonical(path, ignored) : path;
}

}  // namespace

class FileReplacement::Temporary : public File {
 public:
  explicit Temporary(const fs::path& place)
      : File(place, O_WRONLY | O_CREAT | O_EXCL), path(place) {}
  const fs::path path;
};

FileReplacement::FileReplacement(const fs::path& path) : target_(follow_link(path)) {
  std::error_code ignored;
  if (fs::is_directory(target_, ignored)) throw Error(path.string(), "is a folder, not a file");
  file_ = std::make_unique<Temporary>(find_name_beside(target_));
  if (!file_->is_open()) {
    const int error = errno;
    file_.reset();
    fail(target_, "cannot be written", error, hint_for(error));
  }
}

FileReplacement::~FileReplacement() {
  if (file_) ::unlink(file_->path.c_str());
}

void FileReplacement::append(std::string_view content) { write_all(*file_, content, target_); }

void FileReplacement::commit() {
  // Before the rename: else a crash of the machine may leave the new name on an empty file.
  if (::fsync(file_->descriptor()) != 0 || !file_->close() ||
      ::rename(file_->path.c_str(), target_.c_str()) != 0) {
    fail(target_, "cannot be written", errno, hint_for(errno));
  }
  file_.reset();
}

std::string read_file(const fs::path& path) {
  std::string content = read_raw(path);
  if (!is_gzip(content)) return content;
  return decompress_gzip(content, kMaxContentBytes, path.string());
}

void write_file(const fs::path& path, std::string_view content) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) throw Error(path.string(), "is a folder, not a file");
  std::string compressed;
  if (path.extension() == ".gz") {
    compressed = compress_gzip(content);
    content = compressed;
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) return write_special(path, content);
  FileReplacement replacement(path);
  replacement.append(content);
  replacement.commit();
}

}  // namespace ddpprof

#include "profiler/formats/file.h"

#include "profiler/formats/gzip.h"
#include "profiler/trace/error.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test.
class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "ddpprof-file-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  void put(const std::string& name, std::string_view bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::string raw(const std::string& name) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    std::ranges::sort(found);
    return found;
  }

  fs::path folder_;
};

template <typename Do>
Error error_of(Do work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error";
  return {"", ""};
}

TEST_F(FileTest, ReadsWhatItWrote) {
  const std::string text("line\n\0binary\xff", 13);
  write_file(folder_ / "plain.json", text);
  write_file(folder_ / "packed.json.gz", text);
  EXPECT_EQ(read_file(folder_ / "plain.json"), text);
  EXPECT_EQ(read_file(folder_ / "packed.json.gz"), text);
  EXPECT_EQ(raw("plain.json"), text);
  EXPECT_TRUE(is_gzip(raw("packed.json.gz")));
  EXPECT_EQ(names(), (std::vector<std::string>{"packed.json.gz", "plain.json"}));
}

TEST_F(FileTest, EqualContentGivesEqualBytes) {
  write_file(folder_ / "a.gz", "text");
  write_file(folder_ / "b.gz", "text");
  EXPECT_EQ(raw("a.gz"), raw("b.gz"));
}

TEST_F(FileTest, TheContentNotTheNameTellsGzip) {
  put("no-suffix", compress_gzip("text"));
  put("not-really.gz", "text");
  EXPECT_EQ(read_file(folder_ / "no-suffix"), "text");
  EXPECT_EQ(read_file(folder_ / "not-really.gz"), "text");
}

TEST_F(FileTest, AnEmptyFileIsEmpty) {
  write_file(folder_ / "empty", "");
  EXPECT_EQ(read_file(folder_ / "empty"), "");
}

TEST_F(FileTest, ReplacesAFileThroughALink) {
  put("target", "old");
  fs::create_symlink("target", folder_ / "link");
  write_file(folder_ / "link", "new");
  EXPECT_EQ(raw("target"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
}

TEST_F(FileTest, ReadsFilesThatHaveNoSize) {
  EXPECT_EQ(read_file("/proc/self/comm").empty(), false);
}

TEST_F(FileTest, AMissingFileHasTheReasonAndAHint) {
  const Error error = error_of([&] { read_file(folder_ / "none"); });
  EXPECT_EQ(error.subject, (folder_ / "none").string());
  EXPECT_EQ(error.problem, "cannot be read: No such file or directory");
  EXPECT_EQ(error.hint, "check the name");
}

TEST_F(FileTest, AFolderIsNoFile) {
  EXPECT_EQ(error_of([&] { read_file(folder_); }).problem, "is a folder, not a file");
  EXPECT_EQ(error_of([&] { write_file(folder_, "x"); }).problem, "is a folder, not a file");
}

TEST_F(FileTest, TruncatedGzipIsCutOff) {
  const std::string data = compress_gzip("a text of some length, and more of it");
  put("cut.gz", std::string_view(data).substr(0, data.size() - 9));
  const Error error = error_of([&] { read_file(folder_ / "cut.gz"); });
  EXPECT_EQ(error.problem, "is cut off: its gzip data ends too early");
}

TEST_F(FileTest, MoreThanFourGigabytesAreRefusedBeforeReading) {
  put("large", "x");
  fs::resize_file(folder_ / "large", 5'000'000'000);  // a hole: it takes no space
  EXPECT_EQ(error_of([&] { read_file(folder_ / "large"); }).problem, "holds more than 4 GB");
}

TEST_F(FileTest, AMissingFolderIsAnErrorWithAHint) {
  const Error error = error_of([&] { write_file(folder_ / "no" / "file", "x"); });
  EXPECT_EQ(error.problem, "cannot be written: No such file or directory");
  EXPECT_FALSE(error.hint.empty());
  EXPECT_TRUE(names().empty());
}

TEST_F(FileTest, AFileInPlaceOfTheFolderIsAnError) {
  put("file", "x");
  EXPECT_THROW(write_file(folder_ / "file" / "inside", "x"), Error);
}

TEST_F(FileTest, AFullDiskIsAnErrorWithAHint) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Error error = error_of([] { write_file("/dev/full", "x"); });
  EXPECT_EQ(error.problem, "cannot be written: No space left on device");
  EXPECT_EQ(error.hint, "free some space, or choose another place");
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFileAndNothingElse) {
  put("file", "old");
  // The limit on file sizes stands for a disk that fills up while writing.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Error error = error_of([&] { write_file(folder_ / "file", std::string(5000, 'x')); });
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(error.problem, "cannot be written: File too large");
  EXPECT_EQ(raw("file"), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(FileTest, AFolderWithoutPermissionIsAnErrorWithAHint) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const Error error = error_of([&] { write_file(folder_ / "file", "x"); });
  fs::permissions(folder_, fs::perms::owner_all);
  EXPECT_EQ(error.problem, "cannot be written: Permission denied");
  EXPECT_FALSE(error.hint.empty());
}

TEST_F(FileTest, WritesThroughToWhatIsNoRegularFile) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace ddpprof

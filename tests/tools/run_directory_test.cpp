#include "tools/run_directory.h"

#include "profiler/trace/error.h"

#include <fstream>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) /
            (std::string("run_directory_") +
             testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const fs::path& path) { std::ofstream(path) << "content"; }

  fs::path root_;
};

TEST_F(RunDirectoryTest, IsMadeWithItsParents) {
  const RunDirectory directory(root_ / "a" / "b", false);
  EXPECT_TRUE(fs::is_directory(root_ / "a" / "b" / "traces"));
  EXPECT_TRUE(fs::is_directory(root_ / "a" / "b" / "logs"));
  EXPECT_EQ(RunDirectory::trace("ddp", 1), fs::path("traces/ddp_rank1.json.gz"));
}

TEST_F(RunDirectoryTest, RefusesARunUnlessForced) {
  put(root_ / "run.json");
  put(root_ / "notes.txt");
  EXPECT_THROW(RunDirectory(root_, false), Error);
  EXPECT_TRUE(fs::exists(root_ / "run.json"));
  const RunDirectory directory(root_, true);
  EXPECT_FALSE(fs::exists(root_ / "run.json"));
  EXPECT_TRUE(fs::exists(root_ / "notes.txt")) << "what is not a run's is not touched";
}

TEST_F(RunDirectoryTest, RefusesAFolderWithOtherThings) {
  put(root_ / "thesis.tex");
  EXPECT_THROW(RunDirectory(root_, false), Error);
  EXPECT_FALSE(fs::exists(root_ / "traces"));
}

TEST_F(RunDirectoryTest, TakesTheFolderOfAFailedRun) {
  fs::create_directories(root_ / "logs");
  put(root_ / "logs" / "ddp_rank0.log");
  const RunDirectory directory(root_, false);
  EXPECT_FALSE(fs::exists(root_ / "logs" / "ddp_rank0.log"));
}

TEST_F(RunDirectoryTest, TouchesNoFileThatARunWouldNotWrite) {
  fs::create_directories(root_ / "logs");
  put(root_ / "logs" / "important.log");
  put(root_ / "logs" / "ddp_rank0.log");
  EXPECT_THROW(RunDirectory(root_, false), Error);
  const RunDirectory directory(root_, true);
  EXPECT_TRUE(fs::exists(root_ / "logs" / "important.log"));
  EXPECT_FALSE(fs::exists(root_ / "logs" / "ddp_rank0.log"));
}

TEST_F(RunDirectoryTest, DiscardLeavesOnlyWhatIsNotARuns) {
  RunDirectory empty(root_ / "new", false);
  put(root_ / "new" / "logs" / "dp_rank0.log");
  empty.discard();
  EXPECT_FALSE(fs::exists(root_ / "new"));
  put(root_ / "notes.txt");
  RunDirectory(root_, true).discard();
  EXPECT_TRUE(fs::exists(root_ / "notes.txt"));
}

TEST_F(RunDirectoryTest, RefusesAFileAndAFolderBelowAFile) {
  put(root_ / "file");
  EXPECT_THROW(RunDirectory(root_ / "file", true), Error);
  EXPECT_THROW(RunDirectory(root_ / "file" / "below", false), Error);
}

}  // namespace
}  // namespace ddpprof

#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/formats/small_trace.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

// A trace and the file it is written to.
struct Case {
  std::string file;
  Trace trace;

  std::filesystem::path path() const { return std::filesystem::path(DDPPROF_GOLDEN_DIR) / file; }
};

std::vector<Case> cases() {
  return {{"small.trace.json", test::small_trace()}, {"phases.trace.json", test::phases_trace()}};
}

TEST(NativeGolden, WritesEachTraceByteForByte) {
  for (const Case& one : cases()) {
    const std::string text = write_native(one.trace);
    if (std::getenv("DDPPROF_UPDATE_GOLDEN") != nullptr) write_file(one.path(), text);
    EXPECT_EQ(text, read_file(one.path())) << one.file;
  }
}

TEST(NativeGolden, ReadsTheCommittedFiles) {
  for (const Case& one : cases()) {
    EXPECT_EQ(read_native(read_file(one.path()), one.file), one.trace);
  }
}

}  // namespace
}  // namespace ddpprof

#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/formats/small_trace.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(NativeGolden, WritesTheSmallTraceByteForByte) {
  const std::filesystem::path path = std::filesystem::path(DDPPROF_GOLDEN_DIR) / "small.trace.json";
  const std::string text = write_native(test::small_trace());
  if (std::getenv("DDPPROF_UPDATE_GOLDEN") != nullptr) write_file(path, text);
  EXPECT_EQ(text, read_file(path));
}

TEST(NativeGolden, ReadsTheCommittedFile) {
  const std::filesystem::path path = std::filesystem::path(DDPPROF_GOLDEN_DIR) / "small.trace.json";
  EXPECT_EQ(read_native(read_file(path), path.string()), test::small_trace());
}

}  // namespace
}  // namespace ddpprof

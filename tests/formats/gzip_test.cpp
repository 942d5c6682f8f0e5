#include "profiler/formats/gzip.h"

#include "profiler/trace/error.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

constexpr std::size_t kNoLimit = 1'000'000'000;

std::string decompress(const std::string& data, std::size_t max_bytes = kNoLimit) {
  return decompress_gzip(data, max_bytes, "test");
}

std::string long_text() {
  std::string text;
  for (std::int64_t i = 0; i < 300'000; ++i) text += std::to_string(i * 7919) + ",";
  return text;
}

TEST(Gzip, GivesBackWhatItCompressed) {
  for (const std::string& text : {std::string(), std::string("a"), long_text()}) {
    EXPECT_EQ(decompress(compress_gzip(text)), text);
  }
}

TEST(Gzip, HoldsNoTimeAndNoName) {
  const std::string data = compress_gzip("text");
  EXPECT_TRUE(is_gzip(data));
  EXPECT_EQ(data[3], 0) << "flags: no name";
  EXPECT_EQ(data.substr(4, 4), std::string(4, '\0')) << "time stamp";
  EXPECT_EQ(data, compress_gzip("text"));
}

TEST(Gzip, ReadsSeveralMembersAsOne) {
  const std::string text = long_text();
  EXPECT_EQ(decompress(compress_gzip(text) + compress_gzip("") + compress_gzip("end")),
            text + "end");
}

TEST(Gzip, IgnoresZeroBytesBehindTheLastMember) {
  EXPECT_EQ(decompress(compress_gzip("text") + std::string(100, '\0')), "text");
  EXPECT_THROW(decompress(compress_gzip("text") + "rest"), Error);
}

TEST(Gzip, EveryCutIsAnError) {
  const std::string data = compress_gzip("some text that is not too short to be cut");
  for (std::size_t length = 2; length < data.size(); ++length) {
    EXPECT_THROW(decompress(data.substr(0, length)), Error) << length;
    // The same behind a whole member.
    EXPECT_THROW(decompress(data + data.substr(0, length)), Error) << length;
  }
}

TEST(Gzip, EveryFlippedBitOfTheDataIsAnErrorOrHarmless) {
  const std::string text = "some text that is not too short to be damaged";
  const std::string data = compress_gzip(text);
  for (std::size_t bit = 16; bit < data.size() * 8; ++bit) {
    std::string damaged = data;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    try {
      EXPECT_EQ(decompress(damaged), text) << "only in the head, which the checksum leaves out";
    } catch (const Error&) {
      SUCCEED();
    }
  }
}

TEST(Gzip, StopsAtTheLimit) {
  const std::string bomb = compress_gzip(std::string(20'000'000, 'x'));
  EXPECT_LT(bomb.size(), 100'000u);
  EXPECT_THROW(decompress(bomb, 10'000'000), Error);
  EXPECT_EQ(decompress(bomb, 20'000'000).size(), 20'000'000u);
}

}  // namespace
}  // namespace ddpprof

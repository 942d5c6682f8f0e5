#include "profiler/formats/gzip.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>

#include <zlib.h>

namespace ddpprof {
namespace {

constexpr int kWindowBits = 15 + 16;  // the largest window; + 16: gzip
constexpr std::size_t kStepBytes = 1 << 20;
// Half the time of zlib's default, 6, for a sixth more bytes, measured on native traces.
constexpr int kLevel = 3;

// zlib counts in unsigned int.
uInt clamp(std::size_t size) {
  return static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

Bytef* input_of(std::string_view text) {
  // zlib reads through a pointer to non-const and leaves what it reads alone.
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream, kWindowBits) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
};

class Deflater {
 public:
  Deflater() {
    const int result =
        deflateInit2(&stream, kLevel, Z_DEFLATED, kWindowBits, 8, Z_DEFAULT_STRATEGY);
    if (result != Z_OK) throw std::bad_alloc();
  }
  ~Deflater() { deflateEnd(&stream); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  z_stream stream{};
};

// How long the content says it is: right for one member of less than 4 GB, and for nothing else.
// Source: RFC 1952, 2.3.1, ISIZE; zlib's FAQ has the largest ratio, 1032.
std::size_t guess_size(std::string_view compressed, std::size_t max_bytes) {
  std::uint32_t size = 0;
  if (compressed.size() < sizeof size) return 0;
  for (std::size_t i = 1; i <= sizeof size; ++i) {
    size = size << 8 | static_cast<unsigned char>(compressed[compressed.size() - i]);
  }
  return std::min({std::size_t{size}, max_bytes, compressed.size() * 1032});
}

// Decompresses the member `rest` begins with, and takes it off.
void decompress_member(std::string_view& rest, std::string& content, std::size_t max_bytes,
                       const std::string& subject) {
  Inflater inflater;
  z_stream& stream = inflater.stream;
  for (;;) {
    const std::size_t used = content.size();
    content.resize(used + kStepBytes);
    const uInt given = clamp(rest.size());
    stream.next_in = input_of(rest);
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(content.data() + used);
    stream.avail_out = kStepBytes;
    const int result = inflate(&stream, Z_NO_FLUSH);
    rest.remove_prefix(given - stream.avail_in);
    content.resize(used + kStepBytes - stream.avail_out);

    if (content.size() > max_bytes) {
      throw Error(subject, "holds more than 4 GB", "record or export fewer steps");
    }
    if (result == Z_STREAM_END) return;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    const bool is_stuck = content.size() == used && rest.empty();
    if (result == Z_BUF_ERROR || (result == Z_OK && is_stuck)) {
      throw Error(subject, "is cut off: its gzip data ends too early",
                  "copy it again, or record again");
    }
    if (result != Z_OK) throw Error(subject, "has damaged gzip data");
  }
}

}  // namespace

bool is_gzip(std::string_view content) { return content.starts_with("\x1f\x8b"); }

std::string decompress_gzip(std::string_view compressed, std::size_t max_bytes,
                            const std::string& subject) {
  std::string content;
  content.reserve(guess_size(compressed, max_bytes) + kStepBytes);
  std::string_view rest = compressed;
  do {
    decompress_member(rest, content, max_bytes, subject);
  } while (is_gzip(rest));
  if (rest.find_first_not_of('\0') != std::string_view::npos) {
    throw Error(subject, "has something that is not gzip behind its gzip data");
  }
  return content;
}

std::string compress_gzip(std::string_view content) {
  Deflater deflater;
  z_stream& stream = deflater.stream;
  std::string compressed;
  int result = Z_OK;
  do {
    const std::size_t used = compressed.size();
    compressed.resize(used + kStepBytes);
    const uInt given = clamp(content.size());
    stream.next_in = input_of(content);
    stream.avail_in = given;
    stream.next_out = reinterpret_cast<Bytef*>(compressed.data() + used);
    stream.avail_out = kStepBytes;
    result = deflate(&stream, given == content.size() ? Z_FINISH : Z_NO_FLUSH);
    content.remove_prefix(given - stream.avail_in);
    compressed.resize(used + kStepBytes - stream.avail_out);
  } while (result != Z_STREAM_END);
  return compressed;
}

std::uint32_t crc32_of(std::string_view content, std::uint32_t crc) {
  return static_cast<std::uint32_t>(::crc32_z(crc, input_of(content), content.size()));
}

}  // namespace ddpprof

// Messages of Protocol Buffers, field by field.
// Source: protobuf.dev, "Encoding".
#pragma once

#include "profiler/formats/utf8.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace ddpprof {

// Appends fields to `bytes`, in the order of the calls.
class ProtobufWriter {
 public:
  explicit ProtobufWriter(std::string& bytes) : bytes_(bytes) {}

  // Also enumerations and booleans; a negative int64 is its two's complement.
  void number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
  }

  void fixed64(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3 | 1);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift);
  }

  void text(std::uint32_t field, std::string_view content) { bytes(field, repaired_utf8(content)); }

  // Of a message that is complete.
  void bytes(std::uint32_t field, std::string_view content) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(content.size());
    bytes_ += content;
  }

  // `fill` is given a writer of the message inside.
  template <typename Fill>
  void message(std::uint32_t field, const Fill& fill) {
    std::string inside;
    ProtobufWriter writer(inside);
    fill(writer);
    bytes(field, inside);
  }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string& bytes_;
};

}  // namespace ddpprof

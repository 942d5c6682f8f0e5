#include "profiler/formats/json_writer.h"

#include "profiler/formats/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace ddpprof {
namespace {

// Whether a character stands for itself in a JSON string, by its byte.
constexpr std::array<bool, 256> kIsPlain = [] {
  std::array<bool, 256> is_plain{};
  for (std::size_t byte = 0x20; byte < 0x7F; ++byte) is_plain[byte] = byte != '"' && byte != '\\';
  return is_plain;
}();

std::size_t plain_length(std::string_view text) {
  const auto end = std::ranges::find_if_not(
      text, [](char c) { return kIsPlain[static_cast<unsigned char>(c)]; });
  return static_cast<std::size_t>(end - text.begin());
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  static constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

template <typename T>
void append_number(std::string& out, T number) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  out.append(buffer.data(), result.ptr);
}

}  // namespace

void JsonWriter::separate() {
  // One append a call: most of the time of writing goes into such.
  if (needs_comma_) {
    text_.append(",\n", wants_line_ ? 2 : 1);
  } else if (wants_line_) {
    text_ += '\n';
  }
  needs_comma_ = wants_line_ = false;
}

void JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
}

void JsonWriter::close(char bracket) {
  if (wants_line_) text_ += '\n';
  wants_line_ = false;
  text_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::key(std::string_view name) {
  write_string(name, "\": ");
  needs_comma_ = false;
}

void JsonWriter::value(std::string_view text) {
  write_string(text, "\"");
  needs_comma_ = true;
}

void JsonWriter::write_string(std::string_view text, std::string_view end) {
  separate();
  text_ += '"';
  for (;;) {
    const std::size_t plain = plain_length(text);
    text_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      text_ += kReplacement;
    } else if (length == 1) {
      append_escaped(text_, text[0]);
    } else {
      text_.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += end;
}

void JsonWriter::value(std::int64_t number) {
  separate();
  append_number(text_, number);
  needs_comma_ = true;
}

void JsonWriter::value(bool truth) {
  separate();
  text_ += truth ? "true" : "false";
  needs_comma_ = true;
}

void JsonWriter::value(double number) {
  if (std::isnan(number)) return value("nan");
  if (std::isinf(number)) return value(number < 0 ? "-inf" : "inf");
  separate();
  append_number(text_, number);
  needs_comma_ = true;
}

void JsonWriter::null() {
  separate();
  text_ += "null";
  needs_comma_ = true;
}

void JsonWriter::microseconds(std::int64_t time_ns) {
  separate();
  std::array<char, 32> buffer;
  char* at = buffer.data();
  // Unsigned, because the smallest integer has no positive twin.
  std::uint64_t magnitude = static_cast<std::uint64_t>(time_ns);
  if (time_ns < 0) {
    *at++ = '-';
    magnitude = 0 - magnitude;
  }
  at = std::to_chars(at, buffer.data() + buffer.size(), magnitude / 1000).ptr;
  const auto decimals = static_cast<unsigned>(magnitude % 1000);
  *at++ = '.';
  *at++ = static_cast<char>('0' + decimals / 100);
  *at++ = static_cast<char>('0' + decimals / 10 % 10);
  *at++ = static_cast<char>('0' + decimals % 10);
  text_.append(buffer.data(), at);
  needs_comma_ = true;
}

}  // namespace ddpprof

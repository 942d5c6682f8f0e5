#include "profiler/formats/decimal_time.h"

#include <charconv>
#include <limits>

namespace ddpprof {
namespace {

constexpr std::uint64_t kMaxMagnitude =
    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Collects digits one by one and puts the point where the exponent says.
struct Decimal {
  std::uint64_t magnitude = 0;
  int decimals = 0;  // digits of `magnitude` behind the point
  bool has_digits = false;
  bool overflows = false;

  void push(char digit) {
    has_digits = true;
    const auto value = static_cast<std::uint64_t>(digit - '0');
    if (magnitude > (std::numeric_limits<std::uint64_t>::max() - value) / 10) {
      overflows = true;
    } else {
      magnitude = magnitude * 10 + value;
    }
  }
};

std::optional<Decimal> parse_decimal(std::string_view& text) {
  Decimal decimal;
  std::size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) decimal.push(text[i]);
  if (!decimal.has_digits) return std::nullopt;
  if (i < text.size() && text[i] == '.') {
    const std::size_t point = i++;
    for (; i < text.size() && is_digit(text[i]); ++i) {
      // What lies far behind the point cannot be held, and need not be.
      if (decimal.decimals >= 9) continue;
      decimal.push(text[i]);
      ++decimal.decimals;
    }
    if (i == point + 1) return std::nullopt;
  }
  text.remove_prefix(i);
  return decimal;
}

std::optional<int> parse_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] != 'e' && text[0] != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  int exponent = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  if (exponent < -1000 || exponent > 1000) return std::nullopt;
  return exponent;
}

}  // namespace

std::optional<std::int64_t> parse_microseconds(std::string_view number) {
  const bool is_negative = !number.empty() && number[0] == '-';
  if (is_negative) number.remove_prefix(1);
  const std::optional<Decimal> decimal = parse_decimal(number);
  const std::optional<int> exponent = parse_exponent(number);
  if (!decimal || decimal->overflows || !exponent) return std::nullopt;

  std::uint64_t magnitude = decimal->magnitude;
  int shift = *exponent + 3 - decimal->decimals;
  for (; shift > 0 && magnitude != 0; --shift) {
    if (magnitude > kMaxMagnitude / 10) return std::nullopt;
    magnitude *= 10;
  }
  bool rounds_up = false;
  for (; shift < 0 && (magnitude != 0 || rounds_up); ++shift) {
    rounds_up = magnitude % 10 >= 5;
    magnitude /= 10;
  }
  magnitude += rounds_up ? 1 : 0;
  if (magnitude > kMaxMagnitude + (is_negative ? 1 : 0)) return std::nullopt;
  // By way of unsigned, because the smallest integer has no positive twin.
  return static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
}

}  // namespace ddpprof

#include "reports/numbers.h"

#include <cmath>

#include <fmt/format.h>

namespace ddpprof {
namespace {

// 1234567 -> "1,234,567".
std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace

std::string number_text(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return kUnmeasured;
  const double size = std::abs(*value);
  if (size == 0) return "0";
  if (size >= 99.95) return grouped(std::llround(*value));
  if (size >= 9.995) return fmt::format("{:.1f}", *value);
  if (size >= 0.0995) return fmt::format("{:.2f}", *value);
  if (size >= 0.0005) return fmt::format("{:.3f}", *value);
  return *value > 0 ? "<0.001" : ">-0.001";
}

std::string count_text(std::optional<std::int64_t> value) {
  return value ? grouped(*value) : kUnmeasured;
}

std::string share_text(std::optional<double> share) {
  if (!share || !std::isfinite(*share)) return kUnmeasured;
  const double percent = *share * 100;
  if (percent == 0) return "0 %";
  if (std::abs(percent) < 0.05) return percent > 0 ? "<0.1 %" : ">-0.1 %";
  return std::abs(percent) < 0.95 ? fmt::format("{:.1f} %", percent)
                                  : fmt::format("{:.0f} %", percent);
}

std::string duration_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  const auto whole = std::llround(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace ddpprof

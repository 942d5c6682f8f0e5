#include "trainers/common/delay.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof {
namespace {

constexpr std::int64_t kMostMicroseconds = 60'000'000;
constexpr std::string_view kExample = "such as --delay forward:host:20000 or ...:every=10";

struct Row {
  Phase phase;
  bool in_single, in_dp, in_ddp;
};
constexpr std::array<Row, 7> kRows = {{
    {Phase::data, true, true, true},
    {Phase::scatter, false, true, false},
    {Phase::replicate, false, true, false},
    {Phase::forward, true, true, true},
    {Phase::backward, true, true, true},
    {Phase::all_reduce, false, false, true},
    {Phase::optimizer, true, true, true},
}};

bool is_in(const Row& row, std::string_view strategy) {
  return strategy == "single" ? row.in_single : strategy == "dp" ? row.in_dp : row.in_ddp;
}

template <typename Choose>
std::string phase_names(const Choose& choose) {
  std::string names;
  for (const Row& row : kRows) {
    if (choose(row)) {
      names += (names.empty() ? "" : ", ") + std::string(to_string(row.phase));
    }
  }
  return names;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (auto colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':')) {
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.push_back(text);
  return parts;
}

std::optional<std::int64_t> parse_positive(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc{} || end != digits.data() + digits.size() || value < 1) {
    return {};
  }
  return value;
}

std::string subject_of(std::string_view text) { return "--delay " + std::string(text); }

Phase parse_phase(std::string_view name, const std::string& subject) {
  const auto row =
      std::ranges::find(kRows, name, [](const Row& one) { return to_string(one.phase); });
  if (row == kRows.end()) {
    throw UsageError(subject, "no delay can be planted into '" + std::string(name) + "'",
                     "phases: " + phase_names([](const Row&) { return true; }));
  }
  return row->phase;
}

DelayKind parse_kind(std::string_view name, const std::string& subject) {
  if (name != "host" && name != "device") {
    throw UsageError(subject, "'" + std::string(name) + "' is neither host nor device",
                     std::string(kExample));
  }
  return name == "host" ? DelayKind::host : DelayKind::device;
}

std::int64_t parse_length(std::string_view digits, const std::string& subject) {
  const auto microseconds = parse_positive(digits);
  if (!microseconds || *microseconds > kMostMicroseconds) {
    throw UsageError(subject, "'" + std::string(digits) + "' are no microseconds",
                     "from 1 to " + std::to_string(kMostMicroseconds));
  }
  return *microseconds * 1000;
}

void parse_option(std::string_view option, Delay& delay, const std::string& subject) {
  constexpr std::string_view kEvery = "every=";
  if (option == "control") {
    delay.has_controls = true;
    return;
  }
  const auto every =
      option.starts_with(kEvery) ? parse_positive(option.substr(kEvery.size())) : std::nullopt;
  if (!every) {
    throw UsageError(subject, "'" + std::string(option) + "' is neither every=N nor control",
                     "every=10: in steps 9, 19, 29, counted from 0");
  }
  delay.every = *every;
}

}  // namespace

Delay parse_delay(std::string_view text) {
  const std::string subject = subject_of(text);
  const std::vector<std::string_view> parts = split(text);
  if (parts.size() < 3) {
    throw UsageError(subject, "is not PHASE:host|device:MICROSECONDS", std::string(kExample));
  }
  Delay delay{.phase = parse_phase(parts[0], subject),
              .kind = parse_kind(parts[1], subject),
              .length_ns = parse_length(parts[2], subject)};
  for (std::size_t i = 3; i < parts.size(); ++i) {
    parse_option(parts[i], delay, subject);
  }
  return delay;
}

void check_delay_fits(const Delay& delay, std::string_view strategy, std::int64_t devices_count,
                      bool devices_are_threads) {
  const std::string subject = subject_of(to_string(delay.phase));
  const auto row = std::ranges::find(kRows, delay.phase, &Row::phase);
  if (row == kRows.end() || !is_in(*row, strategy)) {
    throw UsageError(
        subject, std::string(strategy) + " has no such phase",
        "its phases: " + phase_names([&](const Row& one) { return is_in(one, strategy); }));
  }
  if (delay.kind == DelayKind::device && devices_are_threads) {
    throw UsageError(subject + ":device", "there is no device that could spin",
                     "plant it on the host, or use ddpprof-train-cuda");
  }
  // One device calls the model itself, as torch.nn.DataParallel does.
  if (delay.phase == Phase::replicate && devices_count == 1 && !devices_are_threads) {
    throw UsageError(subject, "dp on one GPU does not replicate", "take --workers 2");
  }
}

}  // namespace ddpprof

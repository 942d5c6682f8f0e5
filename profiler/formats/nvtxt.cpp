#include "profiler/formats/nvtxt.h"

#include "profiler/formats/common_clock.h"
#include "profiler/formats/nsys_words.h"
#include "profiler/formats/track_layout.h"
#include "profiler/formats/utf8.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ddpprof {
namespace {

// The importer reads times as doubles.
constexpr std::int64_t kLastTime = (std::int64_t{1} << 53) - 1;

constexpr std::string_view kHead =
    "# Ranges of ddpprof, for ImportNvtxt of Nsight Systems\n"
    "TimeBase = Relative\n"
    "@NameProcess, ProcessId, Name\n"
    "@NameOsThread, ProcessId, ThreadId, Name\n"
    "@RangePush, Time, ProcessId, ThreadId, CategoryId, Color, Message\n"
    "@RangePop, Time, ProcessId, ThreadId\n"
    "SetFileDisplayName, \"ddpprof\"\n";

// Texts stand in quotes and know no escapes.
std::string clean(std::string_view text) {
  std::string cleaned = repaired_utf8(text);
  for (char& c : cleaned) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"') c = '\'';
    if (byte < 0x20 || byte == 0x7f) c = ' ';
  }
  return cleaned;
}

// What a range shows. `color`: 0xAARRGGBB.
struct Look {
  std::string text;
  int category = 0;  // phase + 1; 0: none
  std::uint32_t color = 0xFFBAB0AC;
};

std::uint32_t color_of(Activity activity) {
  switch (activity) {
    case Activity::communication:
      return color_of(Phase::all_reduce);
    case Activity::copy:
      return color_of(Phase::bucket_copy);
    default:
      return color_of(Phase::backward);
  }
}

Look look_of(Phase phase, std::string text) {
  return {std::move(text), static_cast<int>(phase) + 1, color_of(phase)};
}

Look look_of(const Trace& trace, const Slice& slice) {
  const std::size_t i = slice.index;
  const auto name = [&](NameId id) { return trace.names[id.index]; };
  switch (slice.kind) {
    case EventKind::step:
      return {.text = fmt::format("step {}", trace.steps[i].index)};
    case EventKind::scope:
      return look_of(trace.scopes[i].phase, name(trace.scopes[i].name));
    case EventKind::call:
      return {.text = name(trace.calls[i].name)};
    case EventKind::work:
      return {.text = short_name(demangled_name(name(trace.work[i].name))),
              .color = color_of(trace.work[i].activity)};
    case EventKind::device_phase: {
      const Phase phase = trace.device_phases[i].phase;
      return look_of(phase, std::string(to_string(phase)));
    }
    case EventKind::collective: {
      const Collective& one = trace.collectives[i];
      return {.text = fmt::format("{} #{}, {} bytes", to_string(one.kind), one.sequence, one.bytes),
              .color = color_of(Phase::all_reduce)};
    }
  }
  return {};
}

class NvtxtWriter {
 public:
  explicit NvtxtWriter(std::span<const Trace> traces) : traces_(traces), clock_(traces) {}

  std::string write() {
    text_ = kHead;
    for (std::size_t i = 0; i < traces_.size(); ++i) write(traces_[i], i + 1, clock_.shift(i));
    return std::move(text_);
  }

 private:
  void write(const Trace& trace, std::size_t process, std::int64_t shift_ns) {
    const std::string title =
        unique(clean(fmt::format("{} rank {}", trace.info.strategy, trace.info.rank)));
    line("NameProcess, {}, \"{}\"", process, title);
    std::size_t row = 0;
    for (const TrackLane& lane : lay_out(trace, shift_ns)) {
      ++row;
      // The window cuts long names off at their end.
      const std::string own =
          lane.number == 0 ? lane.title : fmt::format("{} +{}", lane.title, lane.number);
      line("NameOsThread, {}, {}, \"{}\"", process, row,
           unique(fmt::format("{}, {}", clean(own), title)));
      write(trace, lane, process, row);
    }
  }

  void write(const Trace& trace, const TrackLane& lane, std::size_t process, std::size_t row) {
    std::vector<std::int64_t> ends;
    const auto pop = [&] {
      line("RangePop, {}, {}, {}", ends.back(), process, row);
      ends.pop_back();
    };
    for (const Slice& slice : lane.slices) {
      const Span span = {placed(slice.span.begin_ns), placed(slice.span.end_ns)};
      while (!ends.empty() && ends.back() <= span.begin_ns) pop();
      const Look look = look_of(trace, slice);
      line("RangePush, {}, {}, {}, {}, {:#010x}, \"{}\"", span.begin_ns, process, row,
           look.category, look.color, clean(look.text));
      ends.push_back(span.end_ns);
    }
    while (!ends.empty()) pop();
  }

  static std::int64_t placed(std::int64_t time_ns) {
    return std::clamp(time_ns, std::int64_t{0}, kLastTime);
  }

  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }

  // Of two rows with one name the importer shows the first without.
  std::string unique(const std::string& name) {
    std::string found = name;
    for (int count = 2; !names_.insert(found).second; ++count) {
      found = fmt::format("{} #{}", name, count);
    }
    return found;
  }

  const std::span<const Trace> traces_;
  const CommonClock clock_;
  std::set<std::string> names_;
  std::string text_;
};

}  // namespace

std::string write_nvtxt(std::span<const Trace> traces) { return NvtxtWriter(traces).write(); }

}  // namespace ddpprof

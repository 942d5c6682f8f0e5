#include "tests/support/draw.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>
#include <utility>

namespace ddpprof::test {
namespace {

struct Stroke {
  char mark = '.';
  Span span;
};

std::vector<Stroke> strokes_of(std::string_view picture) {
  std::vector<Stroke> strokes;
  for (std::size_t i = 0; i < picture.size(); ++i) {
    if (picture[i] == '.') continue;
    const auto begin = static_cast<std::int64_t>(i) * kColumnNs;
    if (i > 0 && picture[i - 1] == picture[i]) {
      strokes.back().span.end_ns = begin + kColumnNs;
    } else {
      strokes.push_back({picture[i], {begin, begin + kColumnNs}});
    }
  }
  return strokes;
}

bool is_letter(char mark) { return std::isalpha(static_cast<unsigned char>(mark)) != 0; }

constexpr std::string_view kPhaseMarks = "dsrfglbcRaoxuG";

// A letter's correlation; 0 for other marks.
std::int64_t correlation_of(char mark) { return is_letter(mark) ? mark : 0; }

class Builder {
 public:
  Builder() : names_(trace_.names) {}

  void operator()(const StepRow& row) {
    std::optional<std::int64_t> last_end;
    for (const Stroke& stroke : strokes_of(row.picture)) {
      if (last_end && *last_end != stroke.span.begin_ns) ++visit_;
      last_end = stroke.span.end_ns;
      trace_.steps.push_back({.index = stroke.mark - '0', .visit = visit_, .span = stroke.span});
    }
  }

  void operator()(const ScopeRow& row) {
    for (const Stroke& stroke : strokes_of(row.picture)) {
      Scope scope;
      scope.span = stroke.span;
      scope.thread = thread(row.options.thread);
      scope.phase = row.phase;
      scope.name = names_.intern(to_string(row.phase));
      scope.computes = row.options.computes;
      if (row.options.cpu_us) scope.cpu_ns = *row.options.cpu_us * kColumnNs;
      trace_.scopes.push_back(scope);
    }
  }

  void operator()(const CallRow& row) {
    for (const Stroke& stroke : strokes_of(row.picture)) {
      Call call;
      call.span =
          stroke.mark == '?' ? Span{stroke.span.begin_ns, stroke.span.begin_ns - 1} : stroke.span;
      call.thread = thread(row.thread);
      call.name = names_.intern(is_letter(stroke.mark) ? "launch" : "synchronize");
      call.correlation = correlation_of(stroke.mark);
      call.synchronizes = !is_letter(stroke.mark);
      trace_.calls.push_back(call);
    }
  }

  void operator()(const WorkRow& row) {
    for (const Stroke& stroke : strokes_of(row.picture)) {
      if (is_letter(stroke.mark)) {
        work_by_mark_[stroke.mark] = static_cast<std::uint32_t>(trace_.work.size());
      }
      trace_.work.push_back({.span = stroke.span,
                             .device = row.options.device,
                             .stream = row.options.stream,
                             .activity = row.activity,
                             .name = names_.intern(row.options.name),
                             .correlation = correlation_of(stroke.mark)});
    }
  }

  void operator()(const CollectiveRow& row) {
    std::int64_t sequence = row.options.sequence;
    for (const Stroke& stroke : strokes_of(row.picture)) {
      Collective collective;
      const auto position = static_cast<std::size_t>(sequence - row.options.sequence);
      collective.kind = row.options.kind;
      collective.communicator = names_.intern(row.options.communicator);
      collective.sequence = sequence++;
      collective.bytes = row.options.bytes;
      collective.gradient = row.options.gradient;
      collective.bucket = row.options.bucket;
      collective.root = row.options.root;
      collective.device = row.options.device;
      collective.span = stroke.span;
      if (position < row.options.ready_columns.size()) {
        collective.ready_ns = row.options.ready_columns[position] * kColumnNs;
      }
      if (const auto found = work_by_mark_.find(stroke.mark); found != work_by_mark_.end()) {
        collective.work = found->second;
      }
      trace_.collectives.push_back(collective);
    }
  }

  void operator()(const DevicePhaseRow& row) {
    for (std::size_t i = 0; i < row.phases.size(); ++i) {
      if (row.phases[i] == '.') continue;
      const auto begin = static_cast<std::int64_t>(i) * kColumnNs;
      const bool goes_on =
          i > 0 && row.phases[i - 1] == row.phases[i] && row.steps.at(i - 1) == row.steps.at(i);
      if (goes_on) {
        trace_.device_phases.back().span.end_ns += kColumnNs;
      } else {
        trace_.device_phases.push_back(
            {.span = {begin, begin + kColumnNs},
             .device = row.device,
             .step = row.steps.at(i) - '0',
             .phase = static_cast<Phase>(kPhaseMarks.find(row.phases[i]))});
      }
    }
  }

  Trace build() { return std::move(trace_); }

 private:
  ThreadId thread(const std::string& name) {
    const auto found = std::ranges::find(trace_.threads, name, &Thread::name);
    if (found != trace_.threads.end()) {
      return {static_cast<std::uint32_t>(found - trace_.threads.begin())};
    }
    Thread made;
    made.system_id = 100 + static_cast<std::int64_t>(trace_.threads.size());
    made.life = {0, 1'000'000'000};
    made.name = name;
    made.is_main = name == "main";
    if (constexpr std::string_view kReplica = "replica "; name.starts_with(kReplica)) {
      made.replica = name[kReplica.size()] - '0';
    }
    trace_.threads.push_back(made);
    return {static_cast<std::uint32_t>(trace_.threads.size() - 1)};
  }

  Trace trace_;
  NameTable names_;
  std::int32_t visit_ = 0;
  std::map<char, std::uint32_t> work_by_mark_;
};

char activity_mark(const Label& label) {
  if (!label.activity) return '?';
  if (*label.activity == Activity::stall) {
    return label.kind ? to_string(*label.kind)[0] : 'w';
  }
  return "#=-"[static_cast<std::size_t>(*label.activity)];
}

char phase_mark(const Label& label) { return kPhaseMarks[static_cast<std::size_t>(label.phase)]; }

template <typename Mark>
std::string draw_marks(const std::vector<std::vector<Segment>>& windows, Mark mark) {
  std::string picture;
  for (const auto& segments : windows) {
    for (const Segment& segment : segments) {
      if (segment.span.begin_ns % kColumnNs != 0 || segment.span.end_ns % kColumnNs != 0) {
        throw std::logic_error("a segment that does not fit the columns of a picture");
      }
      picture.resize(static_cast<std::size_t>(segment.span.begin_ns / kColumnNs), '.');
      picture.resize(static_cast<std::size_t>(segment.span.end_ns / kColumnNs),
                     mark(segment.label));
    }
  }
  return picture;
}

}  // namespace

Row steps(std::string picture) { return StepRow{std::move(picture)}; }
Row scopes(Phase phase, std::string picture, ScopeOptions options) {
  return ScopeRow{phase, std::move(picture), std::move(options)};
}
Row calls(std::string picture, std::string thread) {
  return CallRow{std::move(picture), std::move(thread)};
}
Row work(Activity activity, std::string picture, WorkOptions options) {
  return WorkRow{activity, std::move(picture), std::move(options)};
}
Row collectives(std::string picture, CollectiveOptions options) {
  return CollectiveRow{std::move(picture), std::move(options)};
}
Row device_phases(std::string phases, std::string steps, std::int32_t device) {
  return DevicePhaseRow{std::move(phases), std::move(steps), device};
}

Trace draw(const std::vector<Row>& rows) {
  Builder builder;
  for (const Row& row : rows) std::visit(builder, row);
  return builder.build();
}

Trace draw_on_threads(const std::vector<Row>& rows) {
  Trace trace = draw(rows);
  trace.info.devices_are_threads = true;
  return trace;
}

std::string draw_activities(const std::vector<std::vector<Segment>>& windows) {
  return draw_marks(windows, activity_mark);
}
std::string draw_phases(const std::vector<std::vector<Segment>>& windows) {
  return draw_marks(windows, phase_mark);
}

}  // namespace ddpprof::test

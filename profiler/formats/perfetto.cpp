#include "profiler/formats/perfetto.h"

#include "profiler/formats/common_clock.h"
#include "profiler/formats/perfetto_packets.h"
#include "profiler/formats/track_layout.h"
#include "profiler/formats/work_kind.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace ddpprof {
namespace {

// Flow ids of collectives; those of launches have the bit clear.
constexpr std::uint64_t kAcrossRanks = std::uint64_t{1} << 63;

// FNV-1a, 64 bits. Source: Fowler, Noll, Vo; draft-eastlake-fnv.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14'695'981'039'346'656'037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  return hash;
}

// One collective on all ranks of a job; a flow's id.
std::uint64_t meeting_of(const Trace& trace, const Collective& one) {
  return hash_of(fmt::format("{}\n{}\n{}", trace.info.strategy, trace.names[one.communicator.index],
                             one.sequence)) |
         kAcrossRanks;
}

// The ranks that recorded each.
using Meetings = std::unordered_map<std::uint64_t, std::set<std::int32_t>>;
Meetings find_meetings(std::span<const Trace> traces) {
  Meetings meetings;
  for (const Trace& trace : traces) {
    for (const Collective& one : trace.collectives) {
      meetings[meeting_of(trace, one)].insert(trace.info.rank);
    }
  }
  return meetings;
}

// Where a packet goes in time: packets of one track in the order in which they are added.
struct Point {
  std::int64_t time_ns = 0;
  TrackId track = 0;
  enum class What : std::uint8_t { begin, end, count } what = What::begin;
  Slice slice;
  std::int64_t value = 0;
  std::size_t trace = 0;
};

class ProcessTracks {
 public:
  ProcessTracks(PerfettoPackets& packets, const Trace& trace, std::size_t position,
                std::int64_t shift_ns, const Meetings& meetings, std::vector<Point>& points)
      : packets_(packets),
        trace_(trace),
        position_(position),
        shift_ns_(shift_ns),
        points_(points),
        meetings_(meetings) {
    std::unordered_set<std::int64_t> called;
    for (const Call& call : trace.calls) called.insert(call.correlation);
    for (std::uint32_t i = 0; i < trace.work.size(); ++i) {
      const std::int64_t correlation = trace.work[i].correlation;
      if (correlation != 0 && called.contains(correlation)) launched_[correlation].push_back(i);
    }
  }

  void place_all() {
    const TraceInfo& info = trace_.info;
    process_ =
        packets_.add_process(static_cast<std::int64_t>(position_) + 1,
                             fmt::format("{} rank {}", info.strategy, info.rank), description());
    for (const TrackLane& lane : lay_out(trace_, shift_ns_)) place(lane);
    place_counters();
  }

  void write(const Point& point) {
    if (point.what == Point::What::end) return packets_.end(point.track, point.time_ns);
    if (point.what == Point::What::count) {
      return packets_.count(point.track, point.time_ns, point.value);
    }
    notes_.clear();
    flows_.clear();
    const std::uint32_t index = point.slice.index;
    switch (point.slice.kind) {
      case EventKind::step:
        return begin(point, trace_.steps[index]);
      case EventKind::scope:
        return begin(point, trace_.scopes[index]);
      case EventKind::call:
        return begin(point, trace_.calls[index]);
      case EventKind::work:
        return begin(point, trace_.work[index]);
      case EventKind::device_phase:
        return begin(point, trace_.device_phases[index]);
      case EventKind::collective:
        return begin(point, trace_.collectives[index]);
    }
  }

 private:
  std::string description() const {
    const TraceInfo& info = trace_.info;
    std::string text = fmt::format("host {}, {}", info.host, info.workload.name);
    for (const Device& device : info.devices) text += ", " + device.name;
    if (!info.recorder.empty()) text += ", recorded by " + info.recorder;
    if (info.dropped_records > 0) text += fmt::format(", {} records lost", info.dropped_records);
    const auto uncertainty = [&](std::string_view what, const std::optional<std::int64_t>& ns) {
      if (ns) text += fmt::format(", {} within {} ns", what, *ns);
    };
    uncertainty("the job's clock", info.clock_uncertainty_ns);
    uncertainty("devices' clocks", info.device_clock_uncertainty_ns);
    return text;
  }

  const std::string& name(NameId id) const { return trace_.names[id.index]; }

  // A track a lane.
  void place(const TrackLane& lane) {
    const TrackId track = packets_.add_track(
        process_,
        lane.number == 0 ? lane.title : fmt::format("{} ({})", lane.title, lane.number + 1));
    std::vector<Slice> open;
    const auto close_until = [&](std::int64_t time_ns) {
      for (; !open.empty() && open.back().span.end_ns <= time_ns; open.pop_back()) {
        add(open.back().span.end_ns, track, Point::What::end, open.back());
      }
    };
    for (const Slice& slice : lane.slices) {
      close_until(slice.span.begin_ns);
      add(slice.span.begin_ns, track, Point::What::begin, slice);
      if (slice.span.empty()) {
        add(slice.span.begin_ns, track, Point::What::end, slice);
      } else {
        open.push_back(slice);
      }
    }
    close_until(std::numeric_limits<std::int64_t>::max());
  }

  void add(std::int64_t time_ns, TrackId track, Point::What what, const Slice& slice,
           std::int64_t value = 0) {
    points_.push_back({time_ns, track, what, slice, value, position_});
  }

  using Changes = std::vector<std::pair<std::int64_t, std::int64_t>>;  // time, by how much

  void place_counters() {
    Changes waiting, in_flight;
    for (const Call& call : trace_.calls) {
      const auto launched = launched_.find(call.correlation);
      if (launched == launched_.end()) continue;
      // Of a graph: its first part. The others wait for one another.
      const std::int64_t start_ns = trace_.work[launched->second.front()].span.begin_ns;
      if (start_ns <= call.span.end_ns) continue;
      waiting.emplace_back(call.span.end_ns, 1);
      waiting.emplace_back(start_ns, -1);
    }
    for (const Collective& one : trace_.collectives) {
      if (!one.gradient || one.span.empty()) continue;
      in_flight.emplace_back(one.span.begin_ns, one.bytes);
      in_flight.emplace_back(one.span.end_ns, wrapping_difference(0, one.bytes));
    }
    place_counter("launched, not started", CounterUnit::count, waiting);
    place_counter("gradients in flight", CounterUnit::bytes, in_flight);
  }

  // One value an instant.
  void place_counter(std::string_view title, CounterUnit unit, Changes& changes) {
    if (changes.empty()) return;
    std::ranges::sort(changes);
    const TrackId track = packets_.add_counter(process_, title, unit);
    std::int64_t value = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      value = wrapping_sum(value, changes[i].second);
      if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
      add(wrapping_sum(changes[i].first, shift_ns_), track, Point::What::count, {}, value);
    }
  }

  void note(std::string_view key, std::int64_t value) { notes_.push_back({key, value}); }
  void note(std::string_view key, std::string_view value) { notes_.push_back({key, value}); }

  void begin_slice(const Point& point, std::string_view title, std::string_view category) {
    packets_.begin(point.track, point.time_ns, title, category, notes_, flows_);
  }

  // One a piece of work.
  void add_flow(std::uint32_t work) {
    flows_.push_back(hash_of(fmt::format("{}:{}", position_, work)) & ~kAcrossRanks);
  }

  void begin(const Point& point, const Step& step) {
    note("visit", step.visit);
    if (step.has_losses) note("losses", "yes");
    begin_slice(point, fmt::format("step {}", step.index), "step");
  }

  void begin(const Point& point, const Scope& scope) {
    note("phase", to_string(scope.phase));
    if (scope.replica) note("replica", *scope.replica);
    if (scope.cpu_ns) note("cpu_ns", *scope.cpu_ns);
    begin_slice(point, name(scope.name), "scope");
  }

  void begin(const Point& point, const Call& call) {
    if (call.correlation != 0) note("correlation", call.correlation);
    if (const auto found = launched_.find(call.correlation); found != launched_.end()) {
      for (const std::uint32_t work : found->second) add_flow(work);
    }
    begin_slice(point, name(call.name), call.synchronizes ? "call that waits" : "call");
  }

  void begin(const Point& point, const Work& work) {
    note("activity", to_string(work.activity));
    if (work.correlation != 0) note("correlation", work.correlation);
    if (work.bytes != 0) note("bytes", work.bytes);
    if (work.captured_phase) note("phase", to_string(*work.captured_phase));
    if (launched_.contains(work.correlation)) add_flow(point.slice.index);
    constexpr std::string_view kCategories[] = {"kernel", "copy", "set"};
    const std::string& title = name(work.name);
    begin_slice(point, title, kCategories[static_cast<std::size_t>(kind_of(work, title))]);
  }

  void begin(const Point& point, const DevicePhase& phase) {
    note("step", phase.step);
    begin_slice(point, to_string(phase.phase), "phase");
  }

  void begin(const Point& point, const Collective& one) {
    note("communicator", name(one.communicator));
    note("sequence", one.sequence);
    note("bytes", one.bytes);
    if (one.element_type) note("dtype", to_string(*one.element_type));
    if (one.bucket) note("bucket", *one.bucket);
    if (one.root) note("root", *one.root);
    const std::uint64_t meeting = meeting_of(trace_, one);
    if (meetings_.at(meeting).size() > 1) flows_.push_back(meeting);
    begin_slice(point, to_string(one.kind), "collective");
  }

  PerfettoPackets& packets_;
  const Trace& trace_;
  const std::size_t position_;
  const std::int64_t shift_ns_;
  std::vector<Point>& points_;
  const Meetings& meetings_;
  TrackId process_ = 0;
  std::unordered_map<std::int64_t, std::vector<std::uint32_t>> launched_;  // work by correlation
  std::vector<Annotation> notes_;
  std::vector<std::uint64_t> flows_;
};

}  // namespace

std::string write_perfetto(std::span<const Trace> traces) {
  PerfettoPackets packets;
  std::vector<Point> points;
  const CommonClock clock(traces);
  const Meetings meetings = find_meetings(traces);
  std::vector<ProcessTracks> processes;
  processes.reserve(traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i) {
    processes.emplace_back(packets, traces[i], i, clock.shift(i), meetings, points).place_all();
  }
  // Of one instant what was added first comes first: ends before begins on each track.
  std::ranges::stable_sort(points, {}, &Point::time_ns);
  for (const Point& point : points) processes[point.trace].write(point);
  return packets.take();
}

}  // namespace ddpprof

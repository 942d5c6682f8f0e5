#include "profiler/formats/track_layout.h"

#include "profiler/formats/common_clock.h"
#include "profiler/formats/rows.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace ddpprof {
namespace {

// Outer before inner.
bool comes_first(const Slice& a, const Slice& b) {
  return a.span.begin_ns != b.span.begin_ns ? a.span.begin_ns < b.span.begin_ns
                                            : a.span.end_ns > b.span.end_ns;
}

// The lowest lane in which a slice nests with those before it. Shape: `slices` sorted by
// comes_first.
std::vector<std::vector<Slice>> nest(const std::vector<Slice>& slices) {
  struct Lane {
    std::vector<Slice> slices;
    std::vector<std::int64_t> open_ends;
    bool takes(Span span) {
      while (!open_ends.empty() && open_ends.back() <= span.begin_ns) open_ends.pop_back();
      return open_ends.empty() || span.end_ns <= open_ends.back();
    }
  };
  std::vector<Lane> lanes;
  for (const Slice& slice : slices) {
    auto lane = std::ranges::find_if(lanes, [&](Lane& one) { return one.takes(slice.span); });
    if (lane == lanes.end()) lane = lanes.emplace(lanes.end());
    lane->slices.push_back(slice);
    if (!slice.span.empty()) lane->open_ends.push_back(slice.span.end_ns);
  }
  std::vector<std::vector<Slice>> result;
  for (Lane& lane : lanes) result.push_back(std::move(lane.slices));
  return result;
}

// The lowest lane that is free: work of a stream does not nest, even where one piece outlasts
// another.
std::vector<std::vector<Slice>> separate(const std::vector<Slice>& slices) {
  std::vector<Span> spans;
  for (const Slice& slice : slices) spans.push_back(slice.span);
  const std::vector<std::int64_t> rows = find_rows(spans);
  std::vector<std::vector<Slice>> lanes;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    lanes.resize(std::max(lanes.size(), static_cast<std::size_t>(rows[i]) + 1));
    lanes[static_cast<std::size_t>(rows[i])].push_back(slices[i]);
  }
  return lanes;
}

class Layout {
 public:
  Layout(const Trace& trace, std::int64_t shift_ns) : trace_(trace), shift_ns_(shift_ns) {}

  std::vector<TrackLane> take() {
    place("steps", nest(slices_of(trace_.steps, EventKind::step)));
    place_threads();
    place(trace_.info.devices_are_threads ? "gloo" : "collectives",
          separate(slices_of(trace_.collectives, EventKind::collective)));
    place_devices();
    return std::move(lanes_);
  }

 private:
  Slice slice_of(Span span, EventKind kind, std::size_t index) const {
    Span moved{wrapping_sum(span.begin_ns, shift_ns_), wrapping_sum(span.end_ns, shift_ns_)};
    moved.end_ns = std::max(moved.begin_ns, moved.end_ns);
    return {moved, kind, static_cast<std::uint32_t>(index)};
  }

  template <typename Records>
  std::vector<Slice> slices_of(const Records& records, EventKind kind) const {
    std::vector<Slice> slices;
    for (std::size_t i = 0; i < records.size(); ++i) {
      slices.push_back(slice_of(records[i].span, kind, i));
    }
    std::ranges::stable_sort(slices, comes_first);
    return slices;
  }

  void place(const std::string& title, std::vector<std::vector<Slice>> lanes) {
    int number = 0;
    for (std::vector<Slice>& slices : lanes) lanes_.push_back({title, number++, std::move(slices)});
  }

  void place_threads() {
    // Main threads first, then in order of first appearance.
    std::map<std::pair<bool, std::string>, std::size_t> position_of;
    std::vector<std::pair<std::string, std::vector<Slice>>> tracks;
    std::vector<std::size_t> track_of(trace_.threads.size());
    for (const bool is_main : {true, false}) {
      for (std::size_t i = 0; i < trace_.threads.size(); ++i) {
        const Thread& thread = trace_.threads[i];
        if (thread.is_main != is_main) continue;
        const auto [found, is_new] = position_of.try_emplace({is_main, thread.name}, tracks.size());
        if (is_new) tracks.emplace_back(thread.name, std::vector<Slice>());
        track_of[i] = found->second;
      }
    }
    const auto add = [&](ThreadId thread, const Slice& slice) {
      tracks[track_of[thread.index]].second.push_back(slice);
    };
    for (std::size_t i = 0; i < trace_.scopes.size(); ++i) {
      add(trace_.scopes[i].thread, slice_of(trace_.scopes[i].span, EventKind::scope, i));
    }
    for (std::size_t i = 0; i < trace_.calls.size(); ++i) {
      add(trace_.calls[i].thread, slice_of(trace_.calls[i].span, EventKind::call, i));
    }
    for (auto& [name, slices] : tracks) {
      std::ranges::stable_sort(slices, comes_first);
      place(name, nest(slices));
    }
  }

  void place_devices() {
    using Stream = std::pair<std::int32_t, std::int64_t>;
    std::map<Stream, std::vector<Slice>> streams;
    std::map<Stream, std::int64_t> computing_ns;
    std::set<Stream> not_only_communicating;
    for (const Slice& slice : slices_of(trace_.work, EventKind::work)) {
      const Work& work = trace_.work[slice.index];
      streams[{work.device, work.stream}].push_back(slice);
      std::int64_t& sum = computing_ns[{work.device, work.stream}];
      if (work.activity != Activity::communication) {
        not_only_communicating.emplace(work.device, work.stream);
      }
      if (work.activity == Activity::compute)
        sum = wrapping_sum(sum, wrapping_difference(slice.span.end_ns, slice.span.begin_ns));
    }
    std::vector<Stream> order;
    for (const auto& [stream, slices] : streams) order.push_back(stream);
    std::ranges::stable_sort(order, [&](const Stream& a, const Stream& b) {
      if (a.first != b.first) return a.first < b.first;
      if (computing_ns[a] != computing_ns[b]) return computing_ns[a] > computing_ns[b];
      return not_only_communicating.contains(a) && !not_only_communicating.contains(b);
    });
    for (const Stream& stream : order) {
      place(
          fmt::format("GPU {} stream {}", device_number(trace_.info, stream.first), stream.second),
          separate(streams[stream]));
    }
    std::map<std::int32_t, std::vector<Slice>> timed;
    for (const Slice& slice : slices_of(trace_.device_phases, EventKind::device_phase)) {
      timed[trace_.device_phases[slice.index].device].push_back(slice);
    }
    for (const auto& [device, slices] : timed) {
      place(fmt::format("GPU {} main stream", device_number(trace_.info, device)),
            separate(slices));
    }
  }

  const Trace& trace_;
  const std::int64_t shift_ns_;
  std::vector<TrackLane> lanes_;
};

}  // namespace

std::vector<TrackLane> lay_out(const Trace& trace, std::int64_t shift_ns) {
  return Layout(trace, shift_ns).take();
}

}  // namespace ddpprof

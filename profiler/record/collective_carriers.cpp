#include "profiler/record/device_trace.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

struct Launched {
  std::uint32_t work = 0;  // index into Trace::work
  std::int64_t begin_ns = 0;
  std::uint32_t thread = 0;  // the system's id
  bool is_taken = false;
};

// Ends of work on a main stream by when it was launched.
class MainStream {
 public:
  void add(std::int64_t launched_ns, std::int64_t end_ns) {
    ends_.emplace_back(launched_ns, end_ns);
  }
  void finish() {
    std::ranges::sort(ends_);
    for (std::size_t i = 1; i < ends_.size(); ++i) {
      ends_[i].second = std::max(ends_[i].second, ends_[i - 1].second);
    }
  }
  // The end of the last work launched before; `time_ns` itself when that is over by then.
  std::int64_t done_ns(std::int64_t time_ns) const {
    const auto after =
        std::ranges::lower_bound(ends_, time_ns, {}, &std::pair<std::int64_t, std::int64_t>::first);
    return after == ends_.begin() ? time_ns : std::max(time_ns, std::prev(after)->second);
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> ends_;  // launched, end
};

std::map<std::int32_t, std::int64_t> find_main_streams(const Trace& trace) {
  std::map<std::pair<std::int32_t, std::int64_t>, std::int64_t> compute_ns;
  for (const Work& work : trace.work) {
    if (work.activity == Activity::compute) {
      compute_ns[{work.device, work.stream}] += work.span.length_ns();
    }
  }
  std::map<std::int32_t, std::int64_t> streams, most_ns;
  for (const auto& [where, ns] : compute_ns) {
    const auto [device, stream] = where;
    if (!streams.contains(device) || most_ns[device] < ns) {
      streams[device] = stream;
      most_ns[device] = ns;
    }
  }
  return streams;
}

struct Devices {
  std::map<std::int32_t, std::vector<Launched>> communication;  // in order of launch
  std::map<std::int32_t, MainStream> main_streams;
};

Devices sort_out(const Trace& trace) {
  std::unordered_map<std::int64_t, const Call*> calls;
  for (const Call& call : trace.calls) {
    if (call.correlation != 0) calls.emplace(call.correlation, &call);
  }
  const auto main_streams = find_main_streams(trace);
  Devices devices;
  for (std::uint32_t i = 0; i < trace.work.size(); ++i) {
    const Work& work = trace.work[i];
    const auto call = calls.find(work.correlation);
    if (call == calls.end()) continue;
    const std::int64_t begin_ns = call->second->span.begin_ns;
    const auto main = main_streams.find(work.device);
    if (main != main_streams.end() && main->second == work.stream) {
      devices.main_streams[work.device].add(begin_ns, work.span.end_ns);
    }
    // Kernels only: a copy carries no collective.
    if (work.activity != Activity::communication || work.bytes != 0) continue;
    const Thread& thread = trace.threads[call->second->thread.index];
    devices.communication[work.device].push_back(
        {.work = i, .begin_ns = begin_ns, .thread = static_cast<std::uint32_t>(thread.system_id)});
  }
  for (auto& [device, stream] : devices.main_streams) stream.finish();
  for (auto& [device, launched] : devices.communication) {
    std::ranges::sort(launched, {}, [&](const Launched& one) {
      return std::tuple(one.begin_ns, trace.work[one.work].correlation, one.work);
    });
  }
  return devices;
}

Launched* find_carrier(std::vector<Launched>& launched, const CollectiveLaunch& launch) {
  auto one = std::ranges::lower_bound(launched, launch.begin_ns, {}, &Launched::begin_ns);
  for (; one != launched.end() && one->begin_ns <= launch.end_ns; ++one) {
    if (!one->is_taken && one->thread == launch.thread) return &*one;
  }
  return nullptr;
}

}  // namespace

void find_carriers(const Trace& trace,
                   const std::unordered_map<std::uint32_t, CollectiveLaunch>& launches,
                   bool has_losses, std::span<CollectiveTimes> collectives) {
  Devices devices = sort_out(trace);
  for (CollectiveTimes& collective : collectives) {
    const auto launch = launches.find(collective.index);
    if (launch == launches.end()) {
      collective.lost = true;
      continue;
    }
    const MainStream& main = devices.main_streams[launch->second.device];
    collective.ready_ns = main.done_ns(launch->second.begin_ns);
    Launched* const carrier =
        find_carrier(devices.communication[launch->second.device], launch->second);
    if (carrier == nullptr) {
      collective.start_ns = collective.end_ns = collective.ready_ns;
      collective.lost = has_losses;
      continue;
    }
    carrier->is_taken = true;
    const Span span = trace.work[carrier->work].span;
    collective.work = carrier->work;
    collective.start_ns = span.begin_ns;
    collective.end_ns = span.end_ns;
    collective.ready_ns = std::min(collective.ready_ns, collective.start_ns);
  }
}

}  // namespace ddpprof

// Recorder::take(): from raw records to a Trace.
#include "profiler/record/clocks.h"
#include "profiler/record/fifo_queue.h"
#include "profiler/record/recorder.h"
#include "profiler/record/recorder_log.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace ddpprof {
namespace {

constexpr std::array<std::string_view, kCountersCount> kCounterNames = {
    "replicate", "scatter",    "forward",   "gather",
    "backward",  "all_reduce", "broadcast", "optimizer"};
static_assert(static_cast<std::size_t>(Counter::optimizer) + 1 == kCountersCount);

void add_scopes(Trace& trace, NameTable& names, const std::vector<ScopeRecord>& records) {
  // Scopes of a thread were written down when they closed. Of two with the same span the later one
  // is the outer one.
  std::vector<std::uint32_t> order(records.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const ScopeRecord& record = records[i];
    return std::tuple(record.begin_ns, -record.end_ns, record.thread,
                      -static_cast<std::int64_t>(i));
  });
  trace.scopes.reserve(records.size());
  for (const std::uint32_t i : order) {
    const ScopeRecord& record = records[i];
    trace.scopes.push_back({.span = {record.begin_ns, record.end_ns},
                            .thread = {record.thread},
                            .phase = record.phase,
                            .name = names.intern(record.name),
                            .computes = record.computes,
                            .cpu_ns = record.cpu_ns,
                            .replica = record.replica});
  }
}

void count_loss(Trace& trace, std::int64_t time_ns) {
  ++trace.info.dropped_records;
  for (Step& step : trace.steps) {
    if (step.span.contains(time_ns)) step.has_losses = true;
  }
}

// Collectives with the source's times; those it has none for are dropped and counted.
std::vector<Collective> drain_collectives(CollectiveLog& log, DeviceSource* source, Trace& trace) {
  std::vector<std::uint32_t> indices;
  std::vector<std::int64_t> given_up_ns;
  std::vector<Collective> collectives = log.drain(given_up_ns, &indices);
  for (const std::int64_t ready_ns : given_up_ns) count_loss(trace, ready_ns);
  if (source == nullptr) return collectives;
  std::vector<CollectiveTimes> times;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    times.push_back({.index = indices[i],
                     .ready_ns = collectives[i].span.begin_ns,
                     .start_ns = collectives[i].span.begin_ns,
                     .end_ns = collectives[i].span.end_ns});
  }
  source->date_collectives(trace, times);
  std::vector<Collective> dated;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i].lost) {
      count_loss(trace, collectives[i].span.begin_ns);
      continue;
    }
    collectives[i].ready_ns = times[i].ready_ns;
    collectives[i].span = {times[i].start_ns, times[i].end_ns};
    collectives[i].work = times[i].work;
    dated.push_back(collectives[i]);
  }
  return dated;
}

// Replaces "ready" by "began to move", one communicator's queue after the other.
void find_starts(std::vector<Collective>& collectives, int service_threads) {
  std::map<NameId, std::vector<std::size_t>> queues;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    queues[collectives[i].communicator].push_back(i);
  }
  for (auto& [communicator, queue] : queues) {
    std::ranges::stable_sort(queue, {}, [&](std::size_t i) { return collectives[i].sequence; });
    std::vector<QueuedItem> items;
    for (const std::size_t i : queue) {
      items.push_back({collectives[i].span.begin_ns, collectives[i].span.end_ns});
    }
    const std::vector<std::int64_t> starts = find_fifo_starts(items, service_threads);
    for (std::size_t i = 0; i < queue.size(); ++i) collectives[queue[i]].span.begin_ns = starts[i];
  }
}

void sort_device_records(Trace& trace) {
  std::ranges::stable_sort(trace.device_phases, {}, [](const DevicePhase& phase) {
    return std::tuple(phase.device, phase.span);
  });
  std::ranges::stable_sort(trace.calls, {}, [](const Call& call) {
    return std::tuple(call.span, call.thread, call.correlation, call.name);
  });
  std::vector<std::uint32_t> order(trace.work.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const Work& work = trace.work[i];
    return std::tuple(work.span, work.device, work.stream, work.correlation, work.name, i);
  });
  std::vector<Work> sorted;
  std::vector<std::uint32_t> new_index(order.size());
  sorted.reserve(order.size());
  for (const std::uint32_t i : order) {
    new_index[i] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(trace.work[i]);
  }
  trace.work = std::move(sorted);
  for (Collective& collective : trace.collectives) {
    if (collective.work) collective.work = new_index[*collective.work];
  }
}

}  // namespace

Trace Recorder::take(TraceInfo info) {
  Trace trace;
  trace.info = std::move(info);
  NameTable names(trace.names);

  ThreadTable::Drained drained = log_->threads.drain();
  trace.threads = std::move(drained.threads);
  trace.steps = std::exchange(log_->steps, {});
  add_scopes(trace, names, drained.scopes);

  trace.info.recorder = log_->source ? log_->source->recorder() : kHostRecorder;
  trace.info.dropped_records = log_->dropped_count.exchange(0, std::memory_order_relaxed);
  if (log_->source) log_->source->collect(trace);

  trace.collectives = drain_collectives(log_->collectives, log_->source.get(), trace);
  // A source that sees the work has seen when it started, too.
  if (log_->options.service_threads > 0 && !sees_work())
    find_starts(trace.collectives, log_->options.service_threads);
  for (Collective& collective : trace.collectives) {
    collective.communicator = names.intern(log_->collectives.communicator(collective.communicator));
  }
  std::ranges::stable_sort(trace.collectives, {}, [](const Collective& collective) {
    return std::tuple(collective.span, collective.communicator, collective.sequence);
  });

  trace.info.clock_begin = log_->clock_begin;
  trace.info.clock_end = read_clock_pair();
  trace.info.boot_id = boot_id();
  trace.info.host = host_name();
  for (std::size_t i = 0; i < kCountersCount; ++i) {
    const std::int64_t value = log_->counters[i].exchange(0, std::memory_order_relaxed);
    // 0 included: the loop would have counted one.
    trace.info.counts[std::string(kCounterNames[i])] = value;
  }

  sort_device_records(trace);
  return trace;
}

}  // namespace ddpprof

#include "tests/diagnose/tick_book.h"

#include <algorithm>
#include <utility>

namespace ddpprof::test {

TickBook::TickBook(const MachineState& machine)
    : machine_(machine), devices_(machine.devices.size()), threads_(machine.threads.size()) {}

void TickBook::begin_step() {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    devices_[d].tables.emplace_back();
    devices_[d].overlaps.emplace_back();
    Marker marker{machine_.steps.size() - 1, {}};
    const auto queue = machine_.devices[d].queues.find(kMainStream);
    if (queue != machine_.devices[d].queues.end()) {
      for (const std::size_t kernel : queue->second) {
        // Without a launch record it counts as launched when it starts; ahead of the first step as
        // launched before the recording, since no recorded launch's work can start before it.
        if (machine_.kernels[kernel].action.is_recorded ||
            machine_.kernels[kernel].start_tick != kNever || machine_.steps.size() == 1) {
          marker.kernels.push_back(kernel);
        }
      }
    }
    devices_[d].markers.push_back(std::move(marker));
  }
}

void TickBook::book() {
  keep_history();
  for (std::size_t d = 0; d < devices_.size(); ++d) book_device(d);
}

std::vector<std::vector<Overlap>> TickBook::overlaps() const {
  std::vector<std::vector<Overlap>> overlaps;
  for (const DeviceBook& book : devices_) overlaps.push_back(book.overlaps);
  return overlaps;
}

std::vector<std::vector<Breakdown>> TickBook::close() {
  std::vector<std::vector<Breakdown>> tables;
  for (DeviceBook& book : devices_) {
    resolve_at_end(book);
    tables.push_back(std::move(book.tables));
  }
  return tables;
}

void TickBook::keep_history() {
  for (std::size_t i = 0; i < machine_.threads.size(); ++i) {
    const HostThread& thread = machine_.threads[i];
    if (!thread.is_running || thread.is_done) continue;
    ThreadHistory& history = threads_[i];
    if (history.phases.empty()) history.begin = machine_.now;
    history.phases.push_back(thread.open.empty() ? std::nullopt
                                                 : std::optional(thread.open.back().first));
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    devices_[d].process_history.push_back(machine_.process_phase(d));
  }
}

std::optional<Phase> TickBook::phase_of(std::size_t thread, std::int64_t tick) const {
  const ThreadHistory& history = threads_[thread];
  const std::int64_t at = tick - history.begin;
  if (at < 0 || std::cmp_greater_equal(at, history.phases.size())) return std::nullopt;
  return history.phases[static_cast<std::size_t>(at)];
}

void TickBook::book_device(std::size_t d) {
  DeviceBook& book = devices_[d];
  const auto last_window = book.window;
  while (!book.markers.empty() &&
         std::ranges::all_of(book.markers.front().kernels,
                             [&](std::size_t k) { return machine_.is_finished(k); })) {
    book.window = book.markers.front().step;
    book.markers.pop_front();
  }
  const auto winner = find_winner(machine_.devices[d]);
  if (const auto next = started_on_main(machine_.devices[d])) {
    resolve(book, machine_.kernels[*next]);
  }
  // A stall ends with work on any stream and with the window.
  if ((winner || last_window != book.window) && !book.stall.ticks.empty()) {
    book.parked.push_back(std::exchange(book.stall, {}));
  }
  if (!book.window || is_past_the_end(d)) return;
  book_overlap(machine_.devices[d], book.overlaps[*book.window]);
  if (winner) {
    const Kernel& kernel = machine_.kernels[*winner];
    book.tables[*book.window].add({kernel.phase, kernel.action.activity, {}}, kTickNs);
  } else {
    if (book.stall.ticks.empty()) book.stall.begin = machine_.now;
    book.stall.ticks.push_back(machine_.now);
    book.stall.steps.push_back(*book.window);
  }
}

void TickBook::book_overlap(const DeviceState& device, Overlap& overlap) const {
  bool computes = false, communicates = false, all_reduces = false, transfers = false;
  for (const auto& [stream, queue] : device.queues) {
    if (queue.empty() || machine_.kernels[queue.front()].start_tick == kNever) continue;
    const Kernel& kernel = machine_.kernels[queue.front()];
    computes = computes || kernel.action.activity == Activity::compute;
    communicates = communicates || kernel.action.activity == Activity::communication;
    const auto& meeting = kernel.action.meeting;
    if (!meeting || !meeting->gradient || meeting->kind != CollectiveKind::all_reduce) continue;
    all_reduces = true;
    transfers = transfers || kernel.end_tick != kNever;
  }
  const auto count = [](bool holds, std::int64_t& sum_ns) { sum_ns += holds ? kTickNs : 0; };
  count(communicates, overlap.communication_ns);
  count(communicates && computes, overlap.hidden_communication_ns);
  count(all_reduces, overlap.total_ns);
  count(all_reduces && computes, overlap.hidden_ns);
  count(transfers && !computes, overlap.exposed_transfer_ns);
  count(all_reduces && !transfers && !computes, overlap.exposed_wait_ns);
}

// The last window ends with the host or with the work launched in it.
bool TickBook::is_past_the_end(std::size_t d) const {
  if (!machine_.threads.front().is_done) return false;
  const std::size_t last = machine_.steps.size() - 1;
  return std::ranges::none_of(machine_.devices[d].queues, [&](const auto& entry) {
    return std::ranges::any_of(entry.second, [&](std::size_t k) {
      return machine_.kernels[k].step == last && !machine_.is_finished(k);
    });
  });
}

std::optional<std::size_t> TickBook::find_winner(const DeviceState& device) const {
  std::optional<std::size_t> winner;
  for (const auto& [stream, queue] : device.queues) {
    if (queue.empty() || machine_.kernels[queue.front()].start_tick == kNever) continue;
    if (!winner) {
      winner = queue.front();
      continue;
    }
    const Kernel& candidate = machine_.kernels[queue.front()];
    const Kernel& best = machine_.kernels[*winner];
    const bool is_better = candidate.action.activity != best.action.activity
                               ? candidate.action.activity < best.action.activity
                               : candidate.start_tick < best.start_tick;
    if (is_better) winner = queue.front();  // streams ascend: equal ones stay
  }
  return winner;
}

std::optional<std::size_t> TickBook::started_on_main(const DeviceState& device) const {
  const auto queue = device.queues.find(kMainStream);
  if (queue == device.queues.end() || queue->second.empty()) return std::nullopt;
  const std::size_t front = queue->second.front();
  return machine_.kernels[front].start_tick == machine_.now ? std::optional(front) : std::nullopt;
}

// x is the work that all stalls of this device so far were waiting for.
void TickBook::resolve(DeviceBook& book, const Kernel& x) {
  book.parked.push_back(std::exchange(book.stall, {}));
  for (const Stall& stall : std::exchange(book.parked, {})) {
    for (std::size_t i = 0; i < stall.ticks.size(); ++i) {
      book.tables[stall.steps[i]].add(label_stall(book, stall.begin, stall.ticks[i], x), kTickNs);
    }
  }
}

Label TickBook::label_stall(const DeviceBook& book, std::int64_t begin, std::int64_t tick,
                            const Kernel& x) const {
  const Phase process = book.process_history[static_cast<std::size_t>(tick)];
  if (!x.action.is_recorded) return {process, Activity::stall, StallKind::host};
  const bool has_returned = x.return_tick != kNever;  // else it blocks until x is done
  if (has_returned && x.return_tick <= begin) return {x.phase, Activity::stall, StallKind::queued};
  if (has_returned && tick >= x.return_tick) return {x.phase, Activity::stall, StallKind::latency};
  const auto own = phase_of(x.thread, tick);
  const bool waits =
      x.call_before && x.call_before->synchronizes && x.call_before->return_tick > begin;
  return {own.value_or(process), Activity::stall, waits ? StallKind::sync : StallKind::host};
}

void TickBook::resolve_at_end(DeviceBook& book) {
  book.parked.push_back(std::exchange(book.stall, {}));
  for (const Stall& stall : std::exchange(book.parked, {})) {
    for (std::size_t i = 0; i < stall.ticks.size(); ++i) {
      const auto main = phase_of(0, stall.ticks[i]);
      book.tables[stall.steps[i]].add(
          {main.value_or(Phase::other), Activity::stall, StallKind::host}, kTickNs);
    }
  }
}

}  // namespace ddpprof::test

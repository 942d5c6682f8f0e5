#include "tests/diagnose/random_trace.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ddpprof::test {
namespace {

constexpr std::int64_t kEnd = 20'000;

class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  Trace devices() {
    add_steps();
    add_threads({"main", "autograd", "loader", "replica 0", "replica 1", "replica 1"});
    for (std::uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
      add_scopes(thread, {pick(0, kEnd / 4), kEnd - pick(0, kEnd / 4)}, 0, false);
      add_calls(thread);
    }
    const std::int64_t unlaunched = pick(0, 10);
    for (std::int64_t i = 0; i < unlaunched; ++i) add_work(pick(0, kEnd), 0);
    trace_.info.devices.resize(2);
    return std::move(trace_);
  }

  Trace threads(bool with_cpu_times) {
    add_steps();
    add_threads({"main", "loader", "replica 0", "replica 1", "replica 1"});
    for (std::uint32_t thread = 0; thread < trace_.threads.size(); ++thread) {
      add_scopes(thread, {pick(0, kEnd / 4), kEnd - pick(0, kEnd / 4)}, 0, with_cpu_times);
    }
    for (std::int64_t i = pick(0, 12); i > 0; --i) add_collective(i);
    trace_.info.devices_are_threads = true;
    return std::move(trace_);
  }

  Trace phases() {
    add_steps();
    trace_.info.devices.resize(static_cast<std::size_t>(pick(1, 2)));
    for (std::int32_t device = 0; std::cmp_less(device, trace_.info.devices.size()); ++device) {
      add_device_phases(device);
    }
    for (std::int64_t i = pick(0, 12); i > 0; --i) add_collective(i);
    return std::move(trace_);
  }

 private:
  void add_device_phases(std::int32_t device) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < trace_.steps.size(); ++i) {
      const Step& step = trace_.steps[i];
      if (i == 0 || trace_.steps[i - 1].visit != step.visit) {
        at = std::max(at, step.span.begin_ns + pick(0, 300));
      }
      for (std::int64_t stretch = pick(1, 6); stretch > 0; --stretch) {
        const std::int64_t length = stretch > 1 ? pick(0, 900) : pick(1, 900);
        trace_.device_phases.push_back({.span = {at, at + length},
                                        .device = device,
                                        .step = step.index,
                                        .phase = static_cast<Phase>(pick(0, 13))});
        at += length;
      }
    }
  }

  void add_steps() {
    std::int64_t at = pick(0, 2000);
    std::int32_t visit = 0;
    for (std::int64_t index = 0; at < kEnd - 3000; ++index) {
      const std::int64_t end = at + pick(500, 4000);
      trace_.steps.push_back({.index = index, .visit = visit, .span = {at, end}});
      at = end;
      if (pick(0, 4) == 0) {
        at += pick(1, 2000);
        ++visit;
      }
    }
  }

  void add_threads(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      Thread thread;
      thread.name = name;
      thread.system_id = 100 + static_cast<std::int64_t>(trace_.threads.size());
      thread.is_main = name == "main";
      if (name.starts_with("replica")) thread.replica = name.back() - '0';
      trace_.threads.push_back(thread);
    }
  }

  // Scopes side by side inside `within`, some with others inside. Returns their CPU time.
  std::int64_t add_scopes(std::uint32_t thread, Span within, int depth, bool with_cpu_times) {
    std::int64_t cpu_ns = 0;
    std::int64_t at = within.begin_ns;
    while (at < within.end_ns) {
      at += pick(0, 400);
      const Span span{at, std::min(at + pick(1, 4000), within.end_ns)};
      at = span.end_ns;
      if (span.empty()) continue;
      Scope scope;
      scope.span = span;
      scope.thread = {thread};
      scope.phase = static_cast<Phase>(pick(0, static_cast<std::int64_t>(kPhaseNames.size()) - 1));
      scope.name = name("scope");
      scope.computes = pick(0, 2) > 0;
      std::int64_t inner_ns = 0;
      if (depth < 3 && pick(0, 2) == 0) {
        inner_ns =
            add_scopes(thread, {span.begin_ns + 1, span.end_ns - 1}, depth + 1, with_cpu_times);
      }
      const std::int64_t own_cpu_ns = pick(0, span.length_ns());
      if (with_cpu_times && pick(0, 5) > 0) scope.cpu_ns = inner_ns + own_cpu_ns;
      cpu_ns += inner_ns + own_cpu_ns;
      trace_.scopes.push_back(scope);
    }
    return cpu_ns;
  }

  void add_calls(std::uint32_t thread) {
    for (std::int64_t at = pick(0, 3000); at < kEnd;) {
      Call call;
      call.span = {at, at + pick(1, 600)};
      call.thread = {thread};
      call.name = name("call");
      call.synchronizes = pick(0, 5) == 0;
      if (!call.synchronizes || pick(0, 2) == 0) call.correlation = ++correlation_;
      if (call.correlation != 0 && pick(0, 5) > 0) {
        add_work(call.span.begin_ns + pick(1, 5000), call.correlation);
      }
      at = call.span.end_ns + pick(0, 1500);
      trace_.calls.push_back(call);
    }
  }

  void add_work(std::int64_t begin_ns, std::int64_t correlation) {
    trace_.work.push_back({.span = {begin_ns, begin_ns + pick(0, 900)},
                           .device = static_cast<std::int32_t>(pick(0, 1)),
                           .stream = pick(7, 9),
                           .activity = static_cast<Activity>(pick(0, 2)),
                           .name = name("work"),
                           .correlation = correlation});
    if (trace_.work.back().activity == Activity::communication && pick(0, 1) == 0) {
      Collective collective;
      collective.communicator = name("communicator");
      collective.sequence = correlation_;
      collective.gradient = pick(0, 1) == 0;
      collective.device = trace_.work.back().device;
      collective.span = trace_.work.back().span;
      collective.work = static_cast<std::uint32_t>(trace_.work.size() - 1);
      trace_.collectives.push_back(collective);
    }
  }

  void add_collective(std::int64_t sequence) {
    Collective collective;
    collective.communicator = name("communicator");
    collective.sequence = sequence;
    collective.gradient = pick(0, 1) == 0;
    collective.device = static_cast<std::int32_t>(pick(0, 1));
    collective.span.begin_ns = pick(0, kEnd);
    collective.span.end_ns = collective.span.begin_ns + pick(1, 2000);
    if (pick(0, 1) == 0) collective.ready_ns = collective.span.begin_ns - pick(0, 300);
    trace_.collectives.push_back(collective);
  }

  NameId name(const std::string& prefix) {
    trace_.names.push_back(prefix + " " + std::to_string(trace_.names.size()));
    return {static_cast<std::uint32_t>(trace_.names.size() - 1)};
  }

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    if (most <= least) return least;
    return least + static_cast<std::int64_t>(random_()) % (most - least + 1);
  }

  std::mt19937 random_;
  Trace trace_;
  std::int64_t correlation_ = 0;
};

class Order {
 public:
  explicit Order(std::uint32_t seed) : random_(seed) {}

  // Puts `values` into another order; the result says where each went.
  template <typename Value>
  std::vector<std::uint32_t> permute(std::vector<Value>& values) {
    std::vector<std::uint32_t> from(values.size());
    std::iota(from.begin(), from.end(), 0U);
    for (std::size_t i = from.size(); i > 1; --i) std::swap(from[i - 1], from[random_() % i]);
    std::vector<Value> permuted;
    std::vector<std::uint32_t> to(values.size());
    for (std::uint32_t i = 0; i < from.size(); ++i) {
      permuted.push_back(std::move(values[from[i]]));
      to[from[i]] = i;
    }
    values = std::move(permuted);
    return to;
  }

 private:
  std::mt19937 random_;
};

}  // namespace

Trace random_device_trace(std::uint32_t seed) { return Generator(seed).devices(); }
Trace random_thread_trace(std::uint32_t seed, bool with_cpu_times) {
  return Generator(seed).threads(with_cpu_times);
}
Trace random_phase_trace(std::uint32_t seed) { return Generator(seed).phases(); }

Trace shuffle(const Trace& trace, std::uint32_t seed) {
  Trace shuffled = trace;
  Order order(seed);
  const auto names = order.permute(shuffled.names);
  const auto threads = order.permute(shuffled.threads);
  const auto work = order.permute(shuffled.work);
  order.permute(shuffled.steps);
  order.permute(shuffled.scopes);
  order.permute(shuffled.calls);
  order.permute(shuffled.collectives);
  order.permute(shuffled.device_phases);
  for (Scope& scope : shuffled.scopes) {
    scope.name.index = names[scope.name.index];
    scope.thread.index = threads[scope.thread.index];
  }
  for (Call& call : shuffled.calls) {
    call.name.index = names[call.name.index];
    call.thread.index = threads[call.thread.index];
  }
  for (Work& one : shuffled.work) one.name.index = names[one.name.index];
  for (Collective& collective : shuffled.collectives) {
    collective.communicator.index = names[collective.communicator.index];
    if (collective.work) collective.work = work[*collective.work];
  }
  return shuffled;
}

Trace delay(const Trace& trace, std::int64_t time_ns, std::int64_t delay_ns) {
  Trace delayed = trace;
  const auto move = [&](std::int64_t& instant) {
    if (instant > time_ns) instant += delay_ns;
  };
  const auto stretch = [&](auto& record) {
    move(record.span.begin_ns);
    move(record.span.end_ns);
  };
  for (Step& step : delayed.steps) stretch(step);
  for (Scope& scope : delayed.scopes) {
    if (scope.cpu_ns && scope.span.contains(time_ns)) *scope.cpu_ns += delay_ns;
    stretch(scope);
  }
  for (Call& call : delayed.calls) stretch(call);
  for (Work& work : delayed.work) stretch(work);
  for (DevicePhase& phase : delayed.device_phases) stretch(phase);
  for (Collective& collective : delayed.collectives) {
    stretch(collective);
    if (collective.ready_ns) move(*collective.ready_ns);
  }
  return delayed;
}

}  // namespace ddpprof::test

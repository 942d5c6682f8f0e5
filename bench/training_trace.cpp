#include "bench/training_trace.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <tuple>

namespace ddpprof {
namespace {

constexpr std::int64_t kLaunchEveryNs = 6'000;
constexpr std::int64_t kLatencyNs = 2'000;
constexpr std::int64_t kAllReduceEvery = 70;  // launches of backward
constexpr std::uint32_t kKernelNames = 40;
constexpr std::int64_t kMainStream = 7, kAllReduceStream = 20, kCopyStream = 13;
constexpr ThreadId kMainThread = {0}, kAutogradThread = {1}, kLoaderThread = {2};

// Which part of a step's launches belongs to a phase, and who launches them.
struct Part {
  Phase phase;
  std::int64_t begin, end;  // launches of the step
  std::int64_t scopes;      // inside of the phase's own one: layers
  ThreadId thread;
};
constexpr std::array<Part, 5> kParts = {{
    {Phase::data, 0, 4, 0, kLoaderThread},
    {Phase::forward, 4, 330, 12, kMainThread},
    {Phase::loss, 330, 340, 0, kMainThread},
    {Phase::backward, 340, 900, 0, kAutogradThread},
    {Phase::optimizer, 900, kKernelsPerStep, 2, kMainThread},
}};

class TraceMaker {
 public:
  explicit TraceMaker(std::int64_t kernels_count) : kernels_count_(kernels_count) {
    trace_.info.strategy = "ddp";
    trace_.info.devices = {{.name = "GPU", .memory_bytes = 1, .number = {}}};
    trace_.names = {"cudaLaunchKernel", "cudaStreamSynchronize", "gradients", "layer"};
    first_kernel_name_ = static_cast<std::uint32_t>(trace_.names.size());
    for (std::uint32_t i = 0; i < kKernelNames; ++i) {
      // About as long as the names of kernels are.
      trace_.names.push_back("void at::native::vectorized_elementwise_kernel<4, at::native::" +
                             std::to_string(i) + ">(int)");
    }
    for (const char* name : {"main", "autograd", "loader"}) {
      Thread thread;
      thread.system_id = 1000 + static_cast<std::int64_t>(trace_.threads.size());
      thread.name = name;
      thread.is_main = trace_.threads.empty();
      trace_.threads.push_back(thread);
    }
    trace_.calls.reserve(static_cast<std::size_t>(kernels_count + kernels_count / 500));
    trace_.work.reserve(static_cast<std::size_t>(kernels_count));
  }

  Trace make() && {
    for (std::int64_t first = 0; first < kernels_count_; first += kKernelsPerStep) {
      add_step(std::min(kKernelsPerStep, kernels_count_ - first));
    }
    sort_work();
    return std::move(trace_);
  }

 private:
  void add_step(std::int64_t launches_count) {
    const std::int64_t begin_ns = now_ns_;
    for (const Part& part : kParts) {
      add_part(part, std::min(part.end, launches_count));
    }
    synchronize();
    trace_.steps.push_back({.index = static_cast<std::int64_t>(trace_.steps.size()),
                            .visit = 0,
                            .span = {begin_ns, now_ns_}});
  }

  void add_part(const Part& part, std::int64_t end) {
    if (part.begin >= end) return;
    const std::int64_t length_ns = (end - part.begin) * kLaunchEveryNs;
    add_scope(part.phase, {now_ns_, now_ns_ + length_ns});
    for (std::int64_t i = 0; i < part.scopes; ++i) {
      add_scope(part.phase, {now_ns_ + i * length_ns / part.scopes,
                             now_ns_ + (i + 1) * length_ns / part.scopes});
    }
    for (std::int64_t i = part.begin; i < end; ++i, now_ns_ += kLaunchEveryNs) {
      const std::int64_t correlation = launch(part.thread);
      if (part.phase == Phase::data) {
        run(correlation, kCopyStream, Activity::copy, 40'000);
      } else if (part.phase == Phase::backward && i % kAllReduceEvery == 0) {
        all_reduce(correlation);
      } else {
        run(correlation, kMainStream, Activity::compute, 2'000 + draw(7'000));
      }
    }
  }

  void add_scope(Phase phase, Span span) {
    Scope scope;
    scope.span = span;
    scope.thread = kMainThread;
    scope.phase = phase;
    scope.name = {3};
    trace_.scopes.push_back(scope);
  }

  std::int64_t launch(ThreadId thread) {
    const std::int64_t correlation = static_cast<std::int64_t>(trace_.calls.size()) + 1;
    returned_ns_ = now_ns_ + 3'000 + draw(2'900);
    trace_.calls.push_back({.span = {now_ns_, returned_ns_},
                            .thread = thread,
                            .name = {0},
                            .correlation = correlation});
    return correlation;
  }

  Span run(std::int64_t correlation, std::int64_t stream, Activity activity,
           std::int64_t length_ns) {
    std::int64_t& free_ns = free_ns_[stream == kMainStream        ? 0
                                     : stream == kAllReduceStream ? 1
                                                                  : 2];
    const std::int64_t begin_ns = std::max(free_ns, returned_ns_ + kLatencyNs);
    free_ns = begin_ns + length_ns;
    const auto name = first_kernel_name_ + static_cast<std::uint32_t>(draw(kKernelNames));
    trace_.work.push_back({.span = {begin_ns, free_ns},
                           .device = 0,
                           .stream = stream,
                           .activity = activity,
                           .name = {name},
                           .correlation = correlation});
    return trace_.work.back().span;
  }

  void all_reduce(std::int64_t correlation) {
    Collective collective;
    collective.communicator = {2};
    collective.sequence = static_cast<std::int64_t>(trace_.collectives.size());
    collective.bytes = 25 << 20;
    collective.gradient = true;
    collective.ready_ns = now_ns_;
    collective.span = run(correlation, kAllReduceStream, Activity::communication, 150'000);
    collective.work = static_cast<std::uint32_t>(trace_.work.size() - 1);
    trace_.collectives.push_back(collective);
  }

  // The host waits for all that it has launched.
  void synchronize() {
    const std::int64_t done_ns = std::max(now_ns_, std::ranges::max(free_ns_)) + kLatencyNs;
    trace_.calls.push_back({.span = {now_ns_, done_ns},
                            .thread = kMainThread,
                            .name = {1},
                            .correlation = 0,
                            .synchronizes = true});
    now_ns_ = done_ns;
  }

  void sort_work() {
    std::vector<std::uint32_t> order(trace_.work.size()), place(trace_.work.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::uint32_t i) {
      return std::tuple(trace_.work[i].span, trace_.work[i].stream, i);
    });
    std::vector<Work> sorted;
    sorted.reserve(order.size());
    for (const std::uint32_t i : order) {
      place[i] = static_cast<std::uint32_t>(sorted.size());
      sorted.push_back(trace_.work[i]);
    }
    trace_.work = std::move(sorted);
    for (Collective& collective : trace_.collectives) {
      collective.work = place[collective.work.value()];
    }
  }

  std::int64_t draw(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }

  const std::int64_t kernels_count_;
  Trace trace_;
  std::uint32_t first_kernel_name_ = 0;
  std::int64_t now_ns_ = 1'000'000'000'000;  // a machine that has been up for a quarter of an hour
  std::int64_t returned_ns_ = 0;             // when the last launch call returned
  std::array<std::int64_t, 3> free_ns_{};    // when a stream is done: main, all-reduce, copy
  std::mt19937_64 random_{7};
};

}  // namespace

Trace make_training_trace(std::int64_t events_count) { return TraceMaker(events_count / 2).make(); }

}  // namespace ddpprof

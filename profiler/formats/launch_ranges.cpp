#include "profiler/formats/launch_ranges.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>

namespace ddpprof {
namespace {

// Which scope is the innermost one of a thread, asked in order of time.
class ScopeStack {
 public:
  ScopeStack(const Trace& trace, std::uint32_t thread) : scopes_(trace.scopes) {
    for (std::uint32_t i = 0; i < scopes_.size(); ++i) {
      if (scopes_[i].thread.index == thread) order_.push_back(i);
    }
    // Outer before inner.
    std::ranges::stable_sort(order_, [&](std::uint32_t a, std::uint32_t b) {
      const Span first = scopes_[a].span, second = scopes_[b].span;
      return std::tie(first.begin_ns, second.end_ns) < std::tie(second.begin_ns, first.end_ns);
    });
  }

  std::optional<std::uint32_t> innermost_at(std::int64_t time_ns) {
    for (; next_ < order_.size() && scopes_[order_[next_]].span.begin_ns <= time_ns; ++next_) {
      open_.push_back(order_[next_]);
    }
    while (!open_.empty() && scopes_[open_.back()].span.end_ns <= time_ns) open_.pop_back();
    return open_.empty() ? std::nullopt : std::optional(open_.back());
  }

 private:
  const std::vector<Scope>& scopes_;
  std::vector<std::uint32_t> order_, open_;
  std::size_t next_ = 0;
};

void add_ranges(const Trace& trace, std::uint32_t main, std::uint32_t thread,
                const std::vector<const Call*>& calls, std::vector<LaunchRange>& ranges) {
  ScopeStack own(trace, thread), of_main(trace, main);
  std::optional<std::uint32_t> last;  // scope of the range that is open
  for (const Call* call : calls) {
    const std::int64_t time_ns = call->span.begin_ns;
    const auto scope = of_main.innermost_at(time_ns);
    if (own.innermost_at(time_ns)) continue;
    if (scope && scope == last) {
      Span& span = ranges.back().span;
      span.end_ns = std::max(span.end_ns, call->span.end_ns);
    } else if (scope) {
      ranges.push_back({call->span, {thread}, *scope});
    }
    last = scope;
  }
}

}  // namespace

std::vector<LaunchRange> find_launch_ranges(const Trace& trace) {
  const auto main = std::ranges::find(trace.threads, true, &Thread::is_main);
  if (main == trace.threads.end()) return {};
  const auto main_index = static_cast<std::uint32_t>(main - trace.threads.begin());
  std::vector<std::vector<const Call*>> by_thread(trace.threads.size());
  for (const Call& call : trace.calls) {
    if (call.thread.index != main_index) by_thread[call.thread.index].push_back(&call);
  }
  std::vector<LaunchRange> ranges;
  for (std::uint32_t i = 0; i < by_thread.size(); ++i) {
    std::ranges::stable_sort(by_thread[i], {},
                             [](const Call* call) { return call->span.begin_ns; });
    add_ranges(trace, main_index, i, by_thread[i], ranges);
  }
  return ranges;
}

}  // namespace ddpprof

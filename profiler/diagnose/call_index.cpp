#include "profiler/diagnose/call_index.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <tuple>

namespace ddpprof {
namespace {

// A table may have so many places a call.
constexpr std::uint64_t kPlacesPerCall = 8;

// Of calls of one correlation: the outermost first.
bool is_outside(const Call& a, const Call& b) {
  return std::tuple(a.span.begin_ns, b.span.end_ns, a.thread, a.synchronizes) <
         std::tuple(b.span.begin_ns, a.span.end_ns, b.thread, b.synchronizes);
}

// Of calls of one thread: in order of time, the outer one before those inside it.
bool is_before(const Call& a, const Call& b) {
  return std::tuple(a.span.begin_ns, b.span.end_ns, a.correlation, a.synchronizes) <
         std::tuple(b.span.begin_ns, a.span.end_ns, b.correlation, b.synchronizes);
}

// How far it is from a to b, which is not below a.
std::uint64_t distance(std::int64_t a, std::int64_t b) {
  return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
}

}  // namespace

CallIndex::CallIndex(const std::vector<Call>& calls) {
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  first_ = std::numeric_limits<std::int64_t>::max();
  for (const Call& call : calls) {
    if (call.correlation == 0) continue;
    first_ = std::min(first_, call.correlation);
    last = std::max(last, call.correlation);
  }
  if (first_ > last) return;
  const std::uint64_t size = distance(first_, last);
  if (size / kPlacesPerCall < calls.size()) {
    fill_table(calls, static_cast<std::size_t>(size) + 1);
  } else {
    sort_calls(calls);
  }
}

void CallIndex::fill_table(const std::vector<Call>& calls, std::size_t size) {
  table_.resize(size, nullptr);
  for (const Call& call : calls) {
    if (call.correlation == 0) continue;
    const Call*& place = table_[distance(first_, call.correlation)];
    if (place == nullptr || is_outside(call, *place)) place = &call;
  }
}

void CallIndex::sort_calls(const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    if (call.correlation != 0) sorted_.push_back(&call);
  }
  std::ranges::sort(sorted_, [](const Call* a, const Call* b) {
    return a->correlation != b->correlation ? a->correlation < b->correlation : is_outside(*a, *b);
  });
}

const Call* CallIndex::find(std::int64_t correlation) const {
  if (correlation == 0) return nullptr;
  if (!table_.empty()) {
    if (correlation < first_) return nullptr;
    const std::uint64_t place = distance(first_, correlation);
    return place < table_.size() ? table_[place] : nullptr;
  }
  const auto found = std::ranges::lower_bound(sorted_, correlation, {}, &Call::correlation);
  return found != sorted_.end() && (*found)->correlation == correlation ? *found : nullptr;
}

SynchronizedCalls::SynchronizedCalls(const Trace& trace) {
  if (find_pairs(trace.calls, trace.threads.size())) return;
  std::vector<std::reference_wrapper<const Call>> in_order(trace.calls.begin(), trace.calls.end());
  std::ranges::sort(in_order, is_before);
  find_pairs(in_order, trace.threads.size());
  std::ranges::sort(pairs_);
}

// False: the calls of a thread are not in order of time, and what was found means nothing.
template <typename Calls>
bool SynchronizedCalls::find_pairs(const Calls& calls, std::size_t threads_count) {
  struct Last {
    const Call* call = nullptr;
    const Call* before = nullptr;  // the last that comes before `call`: ties do not
  };
  std::vector<Last> by_thread(threads_count);
  pairs_.clear();
  for (const Call& call : calls) {
    Last& last = by_thread[call.thread.index];
    if (last.call != nullptr && is_before(call, *last.call)) return false;
    if (last.call != nullptr && is_before(*last.call, call)) last.before = last.call;
    last.call = &call;
    if (last.before != nullptr && last.before->synchronizes) {
      pairs_.emplace_back(&call, last.before);
    }
  }
  return true;
}

const Call* SynchronizedCalls::before(const Call& call) {
  const std::size_t found =
      cursor_.find(pairs_, [&](const auto& pair) { return std::less<>()(pair.first, &call); });
  return found < pairs_.size() && pairs_[found].first == &call ? pairs_[found].second : nullptr;
}

}  // namespace ddpprof

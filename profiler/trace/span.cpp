#include "profiler/trace/span.h"

#include <algorithm>

namespace ddpprof {

SpanSet unite(std::vector<Span> spans) {
  // Records come in order of time, mostly.
  if (!std::ranges::is_sorted(spans)) std::ranges::sort(spans);
  SpanSet united;
  for (const Span& span : spans) append(united, span);
  return united;
}

void append(SpanSet& set, Span span) {
  if (span.empty()) return;
  if (!set.empty() && span.begin_ns <= set.back().end_ns) {
    set.back().end_ns = std::max(set.back().end_ns, span.end_ns);
  } else {
    set.push_back(span);
  }
}

SpanSet intersect(const SpanSet& a, const SpanSet& b) {
  SpanSet common;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span both{std::max(a[i].begin_ns, b[j].begin_ns), std::min(a[i].end_ns, b[j].end_ns)};
    if (!both.empty()) common.push_back(both);
    if (a[i].end_ns < b[j].end_ns) {
      ++i;
    } else {
      ++j;
    }
  }
  return common;
}

SpanSet subtract(const SpanSet& a, const SpanSet& b) {
  SpanSet rest;
  std::size_t first = 0;
  for (Span span : a) {
    while (first < b.size() && b[first].end_ns <= span.begin_ns) ++first;
    for (std::size_t j = first; j < b.size() && b[j].begin_ns < span.end_ns; ++j) {
      if (span.begin_ns < b[j].begin_ns) rest.push_back({span.begin_ns, b[j].begin_ns});
      span.begin_ns = std::max(span.begin_ns, b[j].end_ns);
    }
    if (!span.empty()) rest.push_back(span);
  }
  return rest;
}

SpanSet clip(const SpanSet& a, Span window) {
  return window.empty() ? SpanSet{} : intersect(a, {window});
}

Span clip(Span a, Span window) {
  const Span both{std::max(a.begin_ns, window.begin_ns), std::min(a.end_ns, window.end_ns)};
  return both.empty() ? Span{both.begin_ns, both.begin_ns} : both;
}

std::int64_t length_ns(const SpanSet& spans) {
  std::int64_t sum = 0;
  for (const Span& span : spans) sum += span.length_ns();
  return sum;
}

}  // namespace ddpprof

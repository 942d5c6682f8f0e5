// Which call launched a piece of work, and which call its thread made before it.
#pragma once

#include "profiler/diagnose/cursor.h"
#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ddpprof {

// Launch calls by correlation. Of several calls with one correlation (a runtime call and the
// driver call inside it) the outermost launched: it began first.
class CallIndex {
 public:
  // `calls` must outlive this.
  explicit CallIndex(const std::vector<Call>& calls);

  // Null: there is none.
  const Call* find(std::int64_t correlation) const;

 private:
  void fill_table(const std::vector<Call>& calls, std::size_t size);
  void sort_calls(const std::vector<Call>& calls);

  // Runtimes count correlations up, so a table of all from the first to the last has few holes.
  std::int64_t first_ = 0;
  std::vector<const Call*> table_;
  // Where it would have many (ids by chance, files put together): by correlation.
  std::vector<const Call*> sorted_;
};

// The synchronising calls that are the last of their thread before another call.
class SynchronizedCalls {
 public:
  // `trace` must outlive this.
  explicit SynchronizedCalls(const Trace& trace);

  // The call that began last on this thread before `call` did, if it synchronises; else null.
  // `call` is one of the trace.
  const Call* before(const Call& call);

 private:
  template <typename Calls>
  bool find_pairs(const Calls& calls, std::size_t threads_count);

  // A call and the synchronising one before it, by the address of the call. Few calls synchronise,
  // so this is short.
  std::vector<std::pair<const Call*, const Call*>> pairs_;
  Cursor cursor_;
};

}  // namespace ddpprof

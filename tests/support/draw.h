// Traces as pictures, for tests: rows of characters become events, and labelled time becomes rows
// of characters again. One column is 1 us, column 0 is time 0.
//
//     const Trace trace = draw({steps("000000000"),
//                               scopes(Phase::forward, "####....."),
//                               calls("a..b....."),
//                               work(Activity::compute, "..aaa.bbb")});
//
// A run of equal characters is one event; '.' is nothing. Events that touch need different
// characters. What the character means depends on the row.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddpprof::test {

inline constexpr std::int64_t kColumnNs = 1000;

// Digits are the steps' indices. A '.' between steps begins another visit.
struct StepRow {
  std::string picture;
};

// Each run is a scope of one phase on one thread.
struct ScopeOptions {
  std::string thread = "main";
  bool computes = false;
  std::optional<std::int64_t> cpu_us = {};
};
struct ScopeRow {
  Phase phase = Phase::other;
  std::string picture;
  ScopeOptions options;
};

// Letters launch the work drawn with the same letter. '!' synchronises and returns; '?' does
// both begin and never return.
struct CallRow {
  std::string picture;
  std::string thread;
};

// Letters are work that the call of the same letter launched; '#' and digits have no launch record.
struct WorkOptions {
  std::int64_t stream = 7;
  std::int32_t device = 0;
  std::string name = "kernel";
};
struct WorkRow {
  Activity activity = Activity::compute;
  std::string picture;
  WorkOptions options;
};

// Each run is a collective in flight; the sequence numbers count up from `sequence`. A run of a
// letter is carried by the work of that letter, if there is one. `ready_columns`: a run each.
struct CollectiveOptions {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string communicator = "world";
  std::int64_t sequence = 0;
  std::int64_t bytes = 1024;
  bool gradient = true;
  std::optional<std::int32_t> bucket = {};
  std::optional<std::int32_t> root = {};
  std::int32_t device = 0;
  std::vector<std::int64_t> ready_columns = {};
};
struct CollectiveRow {
  std::string picture;
  CollectiveOptions options;
};

// Stretches timed on a device's main stream. The first picture has the letters of draw_phases(),
// the second the step of each column; a stretch ends where either changes.
struct DevicePhaseRow {
  std::string phases, steps;
  std::int32_t device = 0;
};

using Row = std::variant<StepRow, ScopeRow, CallRow, WorkRow, CollectiveRow, DevicePhaseRow>;

Row steps(std::string picture);
Row scopes(Phase phase, std::string picture, ScopeOptions options = {});
Row calls(std::string picture, std::string thread = "main");
Row work(Activity activity, std::string picture, WorkOptions options = {});
Row collectives(std::string picture, CollectiveOptions options = {});
Row device_phases(std::string phases, std::string steps, std::int32_t device = 0);

// Threads are named by their rows: "main" is the training loop's; "replica 1" and "replica 1 …"
// work for replica 1; others for none.
Trace draw(const std::vector<Row>& rows);
Trace draw_on_threads(const std::vector<Row>& rows);  // devices are threads

// Labelled time as a picture, a character a column, '.' where no window is:
//     activity  # compute   = communication   - copy
//               q h s l stalls: queued, host, sync, latency   w stalls without a kind
//     phase     d data  s scatter  r replicate  f forward  g gather  l loss  b backward
//               c bucket_copy  R grad_reduce  a all_reduce  o optimizer  x other  u unphased
//               G graph
// Throws std::logic_error when a segment does not begin and end at a column.
std::string draw_activities(const std::vector<std::vector<Segment>>& windows);
std::string draw_phases(const std::vector<std::vector<Segment>>& windows);

}  // namespace ddpprof::test

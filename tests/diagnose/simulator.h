// A small machine of host threads and devices that runs a program and keeps two books: the trace a
// profiler would record, and who owned each tick of each device, known while it happens. It shares
// no code with the accounting it is the oracle for: it goes forward tick by tick and never sorts,
// sweeps or searches a recording.
//
// A launch takes the host a while and enqueues work on a stream; work starts when it has arrived,
// the stream is free and what the stream waits for is done. So the host may run ahead. Work that is
// part of a collective runs, and waits in it, until those it needs have started theirs: on other
// devices, or on other ranks, which are machines of their own that run side by side.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "profiler/diagnose/collectives.h"
#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ddpprof::test {

inline constexpr std::int64_t kTickNs = 1000;
inline constexpr std::int64_t kMainStream = 7;

enum class ActionKind {
  work,                // the host is busy for `ticks`
  enter,               // opens a scope of `phase`
  leave,               // closes it
  begin_step,          //
  end_step,            //
  launch,              // a call of `ticks` that enqueues work
  synchronize,         // a call that returns a tick after the device has drained
  synchronize_stream,  // a tick after what `stream` has now is done
  synchronize_event,   // a tick after what `event` marks is done
  record_event,        // `event` marks the last work of `stream`
  call,                // of `ticks`, about no work
  start_thread,        // another thread begins its program
  join_thread,         // waits for its end
  wait_stream,         // later work of `stream` starts after what `other_stream` has now
  signal,              // lets one await() of `signal` pass, now or later
  await,               // waits for a signal
};

// What work does as a member of a collective.
struct Meeting {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t sequence = 0;  // the same for all members, and of no other collective
  std::size_t members = 1;
  bool gradient = false;
  std::optional<std::int32_t> bucket, root;
  bool is_root = false;
};

// A piece of a CUDA graph.
struct GraphPart {
  Phase captured = Phase::graph;
  std::int64_t stream = kMainStream;
  Activity activity = Activity::compute;
  std::int64_t run_ticks = 1;
  bool follows = false;  // starts after the part before it, which is on another stream
  std::optional<Meeting> meeting = {};
};

struct Action {
  ActionKind kind = ActionKind::work;
  std::int64_t ticks = 0;
  Phase phase = Phase::other;
  std::int32_t device = 0;
  std::int64_t stream = kMainStream;
  std::int64_t other_stream = 0;
  std::optional<std::int32_t> other_device = {};  // of other_stream; absent: `device`
  Activity activity = Activity::compute;
  std::int64_t run_ticks = 0;      // of the work
  std::int64_t arrival_ticks = 1;  // from the begin of the call until the work may start
  bool is_recorded = true;         // whether the launch has a record
  bool is_doubled = false;         // whether its record has one of the driver's call inside it
  bool blocks = false;             // a launch that returns a tick after the work is done
  bool has_call = false;           // record_event and wait_stream: whether they take a call
  std::optional<Meeting> meeting = {};
  std::vector<GraphPart> parts = {};  // not empty: launches a graph
  std::size_t thread = 0;             // to start or join
  std::size_t event = 0;
  std::size_t signal = 0;
};

struct ThreadProgram {
  Thread thread;
  std::vector<Action> actions;
};

// The first program is main's and starts at once.
struct Program {
  std::int32_t devices_count = 1;
  std::vector<ThreadProgram> threads;
  std::int64_t first_correlation = 1;
  std::uint32_t shuffle_seed = 0;  // of the order of the records; 0: as they happened
};

// The ticks of a step's window, by what ran in them.
struct Overlap {
  std::int64_t communication_ns = 0, hidden_communication_ns = 0;
  // In flight: gradient all-reduces. While one transfers no other counts as waiting.
  std::int64_t total_ns = 0, hidden_ns = 0, exposed_wait_ns = 0, exposed_transfer_ns = 0;

  bool operator==(const Overlap&) const = default;
};

struct Simulation {
  Trace trace;
  // Shape: a list a device, a table a step. What the contract of the accounting says each tick is,
  // by construction.
  std::vector<std::vector<Breakdown>> truth;
  std::vector<std::vector<Overlap>> overlaps;
  std::vector<CollectiveTiming> timings;  // one for each of trace.collectives
};

Simulation simulate(const Program& program);

// Ranks of one job, side by side on one clock.
std::vector<Simulation> simulate(const std::vector<Program>& ranks);

}  // namespace ddpprof::test

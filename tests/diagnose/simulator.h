// A small machine of host threads and devices that runs a program and keeps two books: the trace a
// profiler would record, and who owned each tick of each device, known while it happens. It shares
// no code with the accounting it is the oracle for: it goes forward tick by tick and never sorts,
// sweeps or searches a recording.
//
// A launch takes the host a while and enqueues work on a stream; work starts when it has arrived,
// the stream is free and what the stream waits for is done. So the host may run ahead.
#pragma once

#include "profiler/diagnose/breakdown.h"
#include "profiler/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ddpprof::test {

inline constexpr std::int64_t kTickNs = 1000;
inline constexpr std::int64_t kMainStream = 7;

enum class ActionKind {
  work,          // the host is busy for `ticks`
  enter,         // opens a scope of `phase`
  leave,         // closes it
  begin_step,    //
  end_step,      //
  launch,        // a call of `ticks` that enqueues work
  synchronize,   // a call that returns a tick after the device has drained
  start_thread,  // another thread begins its program
  join_thread,   // waits for its end
  wait_stream,   // later work of `stream` starts after what `other_stream` has now
};

struct Action {
  ActionKind kind = ActionKind::work;
  std::int64_t ticks = 0;
  Phase phase = Phase::other;
  std::int32_t device = 0;
  std::int64_t stream = kMainStream;
  std::int64_t other_stream = 0;
  Activity activity = Activity::compute;
  std::int64_t run_ticks = 0;      // of the work
  std::int64_t arrival_ticks = 1;  // from the begin of the call until the work may start
  bool is_recorded = true;         // whether the launch has a record
  std::size_t thread = 0;          // to start or join
};

struct ThreadProgram {
  Thread thread;
  std::vector<Action> actions;
};

// The first program is main's and starts at once.
struct Program {
  std::int32_t devices_count = 1;
  std::vector<ThreadProgram> threads;
};

struct Simulation {
  Trace trace;
  // Shape: a list a device, a table a step. What the contract of the accounting says each tick is,
  // by construction.
  std::vector<std::vector<Breakdown>> truth;
};

Simulation simulate(const Program& program);

}  // namespace ddpprof::test

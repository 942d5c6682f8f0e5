#include "tests/diagnose/program_builder.h"

#include <utility>

namespace ddpprof::test {

ProgramBuilder::ProgramBuilder(std::uint32_t seed) : random_(seed) {
  add_thread("main");
  program.threads.front().thread.is_main = true;
}

std::size_t ProgramBuilder::add_thread(const std::string& name,
                                       std::optional<std::int32_t> replica) {
  ThreadProgram made;
  made.thread.name = name;
  made.thread.system_id = 100 + static_cast<std::int64_t>(program.threads.size());
  made.thread.replica = replica;
  program.threads.push_back(made);
  return program.threads.size() - 1;
}

void ProgramBuilder::add(std::size_t thread, const Action& action) {
  program.threads[thread].actions.push_back(action);
}

void ProgramBuilder::enter(std::size_t thread, Phase phase) {
  add(thread, {.kind = ActionKind::enter, .phase = phase});
}

void ProgramBuilder::leave(std::size_t thread) { add(thread, {.kind = ActionKind::leave}); }

void ProgramBuilder::idle(std::size_t thread) {
  const bool is_long = delay_percent > 0 && chance(delay_percent);
  add(thread, {.kind = ActionKind::work, .ticks = pick(1, host_ticks) + (is_long ? 60 : 0)});
}

void ProgramBuilder::launch(std::size_t thread, Action action) {
  action.kind = ActionKind::launch;
  action.ticks = pick(1, 4);
  action.arrival_ticks = pick(1, arrival_ticks);
  if (action.run_ticks == 0) action.run_ticks = pick(1, device_ticks);
  action.is_recorded = !(may_lose_records && chance(unrecorded_percent));
  action.is_doubled = doubled_percent > 0 && chance(doubled_percent);
  add(thread, action);
}

void ProgramBuilder::launch_before_recording() {
  const std::int64_t percent = std::exchange(unrecorded_percent, 100);
  may_lose_records = true;
  launch(0, {.stream = kSideStream, .run_ticks = pick(1, 60)});
  for (std::int64_t count = pick(1, 4); count > 0; --count) launch(0, {.run_ticks = pick(1, 30)});
  may_lose_records = false;
  unrecorded_percent = percent;
}

void ProgramBuilder::wait(std::size_t thread, std::int32_t device, std::int64_t stream,
                          std::int64_t other) {
  add(thread, {.kind = ActionKind::wait_stream,
               .ticks = 1,
               .device = device,
               .stream = stream,
               .other_stream = other,
               .has_call = call_percent > 0 && chance(call_percent)});
}

void ProgramBuilder::signal(std::size_t thread, std::size_t signal) {
  add(thread, {.kind = ActionKind::signal, .signal = signal});
}

void ProgramBuilder::await(std::size_t thread, std::size_t signal) {
  add(thread, {.kind = ActionKind::await, .signal = signal});
}

std::int64_t ProgramBuilder::pick(std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random_()) % (most - least + 1);
}

bool ProgramBuilder::chance(std::int64_t percent) { return pick(0, 99) < percent; }

}  // namespace ddpprof::test

// Whether the scenarios have what they are made for: an oracle that never meets a thing proves
// nothing of it.
#include "profiler/diagnose/measure.h"
#include "profiler/diagnose/timeline.h"
#include "tests/diagnose/cuda_kinds.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr std::uint32_t kSeeds = 100;

using Content = std::map<std::string, int>;  // in how many scenarios there is such a thing

bool has_recycled_ids(const Trace& trace) {
  std::map<std::int64_t, std::int64_t> ends;  // of the last life, by system id
  bool is_recycled = false;
  for (const Thread& thread : trace.threads) {
    const auto [last, is_new] = ends.try_emplace(thread.system_id, thread.life.end_ns);
    is_recycled = is_recycled || (!is_new && last->second <= thread.life.begin_ns);
    last->second = thread.life.end_ns;
  }
  return is_recycled;
}

// A device was still busy on its main stream when the host began the first step.
bool begins_busy(const Trace& trace) {
  return find_timelines(trace).front().windows.front().span.begin_ns >
         trace.steps.front().span.begin_ns;
}

// The host had ended a step before a device began the window of the step before it.
bool runs_ahead_by_steps(const Trace& trace) {
  for (const DeviceTimeline& timeline : find_timelines(trace)) {
    for (std::size_t i = 0; i + 1 < timeline.windows.size(); ++i) {
      if (timeline.windows[i].span.begin_ns > trace.steps[i + 1].span.end_ns) return true;
    }
  }
  return false;
}

void count_calls(const Trace& trace, Content& content) {
  std::map<std::int64_t, int> work, calls;  // by correlation
  std::set<std::uint32_t> callers, launchers;
  std::set<std::string> found;
  for (const Work& one : trace.work) ++work[one.correlation];
  for (const Call& call : trace.calls) {
    const bool launches = call.correlation != 0 && work.contains(call.correlation);
    callers.insert(call.thread.index);
    if (launches) launchers.insert(call.thread.index);
    if (launches && call.synchronizes) found.insert("a launch that blocks");
    if (!launches && call.synchronizes) found.insert("a synchronising call");
    if (!launches && !call.synchronizes) found.insert("a call without work");
    if (++calls[call.correlation] > 1 && launches) found.insert("two calls of one launch");
    if (launches && work[call.correlation] > 10) found.insert("a launch of much work");
  }
  if (callers.size() > launchers.size()) found.insert("a thread that launches nothing");
  if (work.contains(0)) found.insert("work without a launch");
  if (work.rbegin()->first > 0x7fff'ffff) found.insert("a large correlation");
  for (const std::string& name : found) ++content[name];
}

void count_work(const Simulation& simulation, Content& content) {
  const Trace& trace = simulation.trace;
  std::set<std::int64_t> streams;
  std::set<std::string> found;
  for (const Work& work : trace.work) {
    streams.insert(work.stream);
    if (!work.captured_phase) continue;
    found.insert(work.captured_phase == Phase::graph ? "a part of an unknown phase"
                                                     : "a part of a known phase");
  }
  for (const auto& device : simulation.overlaps) {
    for (const Overlap& step : device) {
      if (step.hidden_communication_ns > 0) found.insert("hidden communication");
      if (step.exposed_wait_ns > 0) found.insert("an exposed wait");
    }
  }
  if (!std::ranges::is_sorted(trace.work, {}, &Work::correlation)) found.insert("disorder");
  if (streams.size() > 2) found.insert("three streams");
  if (std::ranges::any_of(trace.collectives, is_gradient_all_reduce)) found.insert("gradients");
  for (const CollectiveTiming& timing : simulation.timings) {
    if (timing.wait_ns > 0) found.insert("a wait for others");
  }
  if (has_recycled_ids(trace)) found.insert("a recycled id");
  if (begins_busy(trace)) found.insert("a busy begin");
  if (runs_ahead_by_steps(trace)) found.insert("a host ahead by steps");
  for (const std::string& name : found) ++content[name];
}

void expect_content(const CudaKind& kind, const Content& least) {
  Content content;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const Simulation& simulation : kind.simulate(seed)) {
      count_calls(simulation.trace, content);
      count_work(simulation, content);
    }
  }
  for (const auto& [name, count] : least) {
    EXPECT_GE(content[name], count) << kind.name << ": " << name;
  }
}

// In 100 scenarios of two ranks.
TEST(CudaScenarios, OfDdpHaveWhatTheyAreMadeFor) {
  expect_content(kDdpKind, {{"a busy begin", 30},
                            {"a call without work", 100},
                            {"a host ahead by steps", 5},
                            {"a large correlation", 90},
                            {"a launch that blocks", 60},
                            {"a synchronising call", 100},
                            {"a thread that launches nothing", 200},
                            {"a wait for others", 100},
                            {"an exposed wait", 50},
                            {"disorder", 200},
                            {"gradients", 200},
                            {"hidden communication", 100},
                            {"three streams", 150},
                            {"two calls of one launch", 60},
                            {"work without a launch", 30}});
}

TEST(CudaScenarios, OfDpHaveWhatTheyAreMadeFor) {
  expect_content(kDpKind, {{"a host ahead by steps", 5},
                           {"a large correlation", 40},
                           {"a launch that blocks", 30},
                           {"a recycled id", 100},
                           {"a synchronising call", 30},
                           {"a wait for others", 80},
                           {"hidden communication", 20},
                           {"three streams", 80},
                           {"two calls of one launch", 30},
                           {"work without a launch", 20}});
}

TEST(CudaScenarios, OfGraphsHaveWhatTheyAreMadeFor) {
  expect_content(kGraphKind, {{"a busy begin", 15},
                              {"a host ahead by steps", 20},
                              {"a large correlation", 40},
                              {"a launch of much work", 80},
                              {"a launch that blocks", 20},
                              {"a part of a known phase", 60},
                              {"a part of an unknown phase", 10},
                              {"a synchronising call", 20},
                              {"gradients", 40},
                              {"hidden communication", 30},
                              {"work without a launch", 5}});
}

}  // namespace
}  // namespace ddpprof::test

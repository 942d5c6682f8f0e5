#include "profiler/formats/perfetto.h"

#include "tests/formats/perfetto_decoder.h"
#include "tests/formats/random_trace.h"
#include "tests/formats/small_trace.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

using test::decode_perfetto;
using test::DecodedEvent;
using test::DecodedTrace;

std::vector<Trace> two_ranks() {
  std::vector<Trace> traces = {test::small_trace(), test::small_trace()};
  traces[0].info.rank = 0;
  return traces;
}

DecodedTrace written(const std::vector<Trace>& traces) {
  return decode_perfetto(write_perfetto(traces));
}

const DecodedEvent& find(const DecodedTrace& trace, const std::string& name) {
  const auto found = std::ranges::find(trace.events, name, &DecodedEvent::name);
  EXPECT_NE(found, trace.events.end()) << name;
  return *found;
}

// In their order; a track each, "process / track".
std::vector<std::string> track_names(const DecodedTrace& trace) {
  std::vector<std::pair<std::uint64_t, std::string>> ranked;
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.pid == 0) {
      ranked.emplace_back(track.rank, trace.tracks.at(track.parent).name + " / " + track.name);
    }
  }
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (const auto& [rank, name] : ranked) names.push_back(name);
  return names;
}

// Every end has its begin and comes not before it; time does not run back on a track.
void expect_nested(const DecodedTrace& trace) {
  std::map<std::uint64_t, std::vector<std::int64_t>> open;
  std::map<std::uint64_t, std::int64_t> last;
  for (const DecodedEvent& event : trace.events) {
    const auto [at, is_new] = last.try_emplace(event.track, event.time_ns);
    EXPECT_LE(at->second, event.time_ns);
    at->second = event.time_ns;
    if (event.type == 1) open[event.track].push_back(event.time_ns);
    if (event.type == 2) {
      ASSERT_FALSE(open[event.track].empty());
      open[event.track].pop_back();
    }
  }
  for (const auto& [track, times] : open) EXPECT_TRUE(times.empty());
}

TEST(Perfetto, HasTheTracksOfEachRankInOrder) {
  const DecodedTrace trace = written(two_ranks());
  EXPECT_EQ(trace.problems, std::vector<std::string>{});
  std::vector<std::string> expected;
  for (const std::string process : {"ddp rank 0", "ddp rank 1"}) {
    for (const char* track :
         {"steps", "main", "replica 1", "collectives", "collectives (2)", "GPU 1 stream 7",
          "GPU 1 stream 20", "launched, not started", "gradients in flight"}) {
      expected.push_back(process + " / " + track);
    }
  }
  EXPECT_EQ(track_names(trace), expected);
  EXPECT_TRUE(trace.orders_processes);
  std::vector<std::uint64_t> pids;
  for (const auto& [uuid, track] : trace.tracks) {
    if (track.pid != 0) pids.push_back(track.pid);
  }
  EXPECT_EQ(pids, (std::vector<std::uint64_t>{1, 2}));
}

TEST(Perfetto, SaysWhatIsKnownOfClocksAndLosses) {
  Trace trace = test::small_trace();
  trace.info.device_clock_uncertainty_ns = 4100;
  const DecodedTrace decoded = written({trace});
  const std::string& text = decoded.tracks.begin()->second.description;
  EXPECT_NE(text.find("devices' clocks within 4100 ns"), std::string::npos) << text;
  EXPECT_NE(text.find("3 records lost"), std::string::npos) << text;
}

TEST(Perfetto, ClearsTheSequencesStateOnce) {
  const DecodedTrace trace = written(two_ranks());
  ASSERT_FALSE(trace.flags.empty());
  EXPECT_EQ(trace.flags.front(), 1u);
  EXPECT_EQ(std::ranges::count(trace.flags, 2u), static_cast<long>(trace.flags.size()) - 1);
}

TEST(Perfetto, HasEachRecordWithItsTimeAndWhatIsKnownOfIt) {
  const DecodedTrace trace = written({test::small_trace()});
  // The first event, a step, begins at 2 ms.
  EXPECT_EQ(find(trace, "step 10").time_ns, 0);
  const DecodedEvent& scope = find(trace, "DistributedDataParallel.forward");
  EXPECT_EQ(scope.time_ns, 100);
  EXPECT_EQ(scope.annotations.at("phase"), "forward");
  const DecodedEvent& copy = find(trace, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(copy.time_ns, 710'000);
  EXPECT_EQ(copy.category, "copy");
  EXPECT_EQ(copy.annotations.at("bytes"), "65536");
  const DecodedEvent& reduce = find(trace, "all_reduce");
  EXPECT_EQ(reduce.annotations.at("bucket"), "0");
  EXPECT_EQ(reduce.annotations.at("sequence"), "41");
  expect_nested(trace);
}

TEST(Perfetto, JoinsACallAndWhatItLaunched) {
  const DecodedTrace trace = written({test::small_trace()});
  const DecodedEvent& call = find(trace, "cudaLaunchKernel");
  ASSERT_EQ(call.flows.size(), 1u);
  EXPECT_EQ(find(trace, "ampere_sgemm_128x64_tn").flows, call.flows);
  // Their calls were not recorded.
  EXPECT_TRUE(find(trace, "Memset (Device)").flows.empty());
  EXPECT_TRUE(find(trace, "cudaStreamSynchronize").flows.empty());
}

TEST(Perfetto, JoinsACollectiveOfAllRanksAndNothingElse) {
  const DecodedTrace trace = written(two_ranks());
  std::map<std::uint64_t, std::vector<std::string>> joined;
  for (const DecodedEvent& event : trace.events) {
    for (const std::uint64_t flow : event.flows) joined[flow].push_back(event.name);
  }
  std::multiset<std::vector<std::string>> found;
  for (const auto& [flow, names] : joined) {
    ASSERT_EQ(names.size(), 2u);
    found.insert(names);
  }
  EXPECT_EQ(found, (std::multiset<std::vector<std::string>>{
                       {"all_reduce", "all_reduce"},
                       {"broadcast", "broadcast"},
                       {"cudaLaunchKernel", "ampere_sgemm_128x64_tn"},
                       {"cudaLaunchKernel", "ampere_sgemm_128x64_tn"}}));
}

// What one rank alone recorded is joined with nothing, and neither is it one rank's with another
// job's.
TEST(Perfetto, JoinsNoCollectiveThatOneRankAloneRecorded) {
  std::vector<Trace> traces = two_ranks();
  traces[0].collectives.pop_back();
  const DecodedTrace trace = written(traces);
  EXPECT_EQ(find(trace, "all_reduce").flows.size(), 1u);
  EXPECT_TRUE(find(trace, "broadcast").flows.empty());
  EXPECT_TRUE(find(written({test::small_trace()}), "all_reduce").flows.empty());
}

// A graph: each of its parts hangs on the launch, none on another part.
TEST(Perfetto, JoinsALaunchWithEachPieceOfItsWork) {
  Trace small = test::small_trace();
  for (const std::size_t part : {0, 2, 3}) small.work[part].correlation = 77;
  const DecodedTrace trace = written({small});
  const std::vector<std::uint64_t> from = find(trace, "cudaLaunchKernel").flows;
  std::vector<std::uint64_t> to;
  for (const std::size_t part : {0, 2, 3}) {
    const auto& flows = find(trace, small.names[small.work[part].name.index]).flows;
    ASSERT_EQ(flows.size(), 1u);
    to.push_back(flows.front());
  }
  EXPECT_EQ(from, to);
  EXPECT_EQ(std::set<std::uint64_t>(to.begin(), to.end()).size(), 3u);
}

TEST(Perfetto, HasStreamsThatOnlyCommunicateBelowThoseThatCopy) {
  Trace small = test::small_trace();
  small.work[1].stream = 3;   // NCCL
  small.work[2].stream = 13;  // a copy
  std::vector<std::string> names = track_names(written({small}));
  std::erase_if(names, [](const std::string& name) { return name.find("stream") == name.npos; });
  EXPECT_EQ(names,
            (std::vector<std::string>{"ddp rank 1 / GPU 1 stream 7", "ddp rank 1 / GPU 1 stream 13",
                                      "ddp rank 1 / GPU 1 stream 3"}));
}

TEST(Perfetto, CountsLaunchesFromTheirReturnToTheStartOfTheirWork) {
  const DecodedTrace trace = written({test::small_trace()});
  std::vector<std::pair<std::int64_t, std::int64_t>> values;
  for (const DecodedEvent& event : trace.events) {
    if (event.type == 4 && trace.tracks.at(event.track).name == "launched, not started") {
      values.emplace_back(event.time_ns, event.value);
    }
  }
  EXPECT_EQ(values,
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{104'999, 1}, {110'000, 0}}));
}

TEST(Perfetto, CountsGradientsInFlight) {
  const DecodedTrace trace = written({test::small_trace()});
  std::vector<std::pair<std::int64_t, std::int64_t>> values;
  for (const DecodedEvent& event : trace.events) {
    if (event.type == 4 && trace.tracks.at(event.track).name == "gradients in flight") {
      values.emplace_back(event.time_ns, event.value);
      EXPECT_EQ(trace.tracks.at(event.track).unit, 3u);
    }
  }
  EXPECT_EQ(values,
            (std::vector<std::pair<std::int64_t, std::int64_t>>{{300'000, 340'008}, {700'000, 0}}));
}

TEST(Perfetto, PutsOverlappingWorkOfAStreamIntoLanes) {
  Trace trace = test::small_trace();
  trace.work[1].stream = 7;
  trace.work[1].span = {2'150'000, 2'160'000};  // inside the one before
  const DecodedTrace decoded = written({trace});
  EXPECT_NE(decoded.tracks.at(find(decoded, trace.names[trace.work[0].name.index]).track).name,
            decoded.tracks.at(find(decoded, trace.names[trace.work[1].name.index]).track).name);
  expect_nested(decoded);
}

TEST(Perfetto, ShowsPhasesOfADeviceWhereItsWorkIsNotKnown) {
  const DecodedTrace trace = written({test::phases_trace()});
  EXPECT_EQ(trace.tracks.at(find(trace, "backward").track).name, "GPU 1 main stream");
  expect_nested(trace);
}

TEST(Perfetto, HoldsNoTextThatIsNoUtf8) {
  Trace trace = test::small_trace();
  trace.names[trace.scopes.front().name.index] = "a\xff";
  trace.threads.front().name = "b\xc3";
  const DecodedTrace decoded = written({trace});
  const DecodedEvent& scope = find(decoded, "a\xEF\xBF\xBD");
  EXPECT_EQ(decoded.tracks.at(scope.track).name, "b\xEF\xBF\xBD");
}

// Whatever a trace holds, also what does not nest.
TEST(Perfetto, NestsOnEveryTrackAndGivesTheSameBytesEachTime) {
  test::Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Trace> traces = {test::random_trace(random), test::random_trace(random)};
    std::size_t slices = 0;
    for (Trace& trace : traces) {
      trace.info.boot_id = "one";
      const auto tame = [&](auto& records) {
        for (auto& record : records) {
          const std::int64_t begin = test::random_below(random, 50);
          record.span = {begin, begin + test::random_below(random, 20)};
          ++slices;
        }
      };
      tame(trace.steps);
      tame(trace.scopes);
      tame(trace.calls);
      tame(trace.work);
      tame(trace.device_phases);
      tame(trace.collectives);
    }
    const std::string bytes = write_perfetto(traces);
    EXPECT_EQ(bytes, write_perfetto(traces));
    const DecodedTrace decoded = decode_perfetto(bytes);
    EXPECT_EQ(decoded.problems, std::vector<std::string>{});
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(decoded.events, 1u, &DecodedEvent::type)),
              slices);
    expect_nested(decoded);
  }
}

TEST(Perfetto, TakesAnyTime) {
  test::Random random(8);
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(written({test::random_trace(random)}).problems, std::vector<std::string>{});
  }
}

TEST(Perfetto, OfNothingHasNoTracksAndNoEvents) {
  const DecodedTrace trace = written({});
  EXPECT_TRUE(trace.tracks.empty());
  EXPECT_TRUE(trace.events.empty());
}

}  // namespace
}  // namespace ddpprof

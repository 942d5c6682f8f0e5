// What the trainer for GPUs records by CUPTI, and what the accounting makes of it.
#include "profiler/diagnose/strategy.h"
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/gpu/gpus.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr int kWarmup = 4;
constexpr int kRecordedSteps = 6;

Arguments recorded_bert(Arguments more, const std::filesystem::path& trace) {
  more.insert(more.end(), {"--workload", "bert-base", "--layers", "4", "--batch", "16", "--warmup",
                           std::to_string(kWarmup), "--steps",
                           std::to_string(kWarmup + kRecordedSteps), "--trace", trace.string()});
  return more;
}

Trace read(const std::filesystem::path& path) {
  return read_native(read_file(path), path.string());
}

Trace record(const Arguments& arguments) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.json.gz";
  TrainerProcess process(recorded_bert(arguments, path));
  EXPECT_EQ(process.wait(), 0) << process.error();
  return read(path);
}

Trace record_dp() {
  Arguments arguments = {"--strategy", "dp"};
  const Arguments more = two_replicas();
  arguments.insert(arguments.end(), more.begin(), more.end());
  return record(arguments);
}

ddpprof::Run record_ddp(const Arguments& more = {}) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_ranks(ranks_count(), recorded_bert(more, folder.path() / "{rank}.json.gz")),
            std::vector<int>(static_cast<std::size_t>(ranks_count())));
  Run run;
  for (int rank = 0; rank < ranks_count(); ++rank) {
    run.ranks.push_back(read(folder.path() / (std::to_string(rank) + ".json.gz")));
  }
  return run;
}

void expect_whole(const Trace& trace) {
  EXPECT_EQ(trace.info.recorder, kCuptiRecorder);
  EXPECT_EQ(trace.info.dropped_records, 0);
  EXPECT_TRUE(trace.issues.empty()) << trace.issues.front().text;
  EXPECT_TRUE(trace.device_phases.empty());
  ASSERT_EQ(trace.steps.size(), static_cast<std::size_t>(kRecordedSteps));
  std::set<std::int64_t> launches;
  for (const Call& call : trace.calls) launches.insert(call.correlation);
  for (const Work& work : trace.work) {
    EXPECT_TRUE(launches.contains(work.correlation)) << trace.names[work.name.index];
    EXPECT_GT(work.span.length_ns(), 0);
  }
  ASSERT_TRUE(trace.info.device_clock_uncertainty_ns);
  EXPECT_LT(*trace.info.device_clock_uncertainty_ns, 100'000);
}

// Sums over the steps; residual 0 and little in `other`, on every device.
std::vector<Breakdown> account(const ddpprof::Run& run) {
  const MeasuredRun measured = measure_run(run, "test");
  std::vector<Breakdown> tables;
  for (const MeasuredDevice& device : measured.devices) {
    EXPECT_EQ(device.steps.size(), static_cast<std::size_t>(kRecordedSteps));
    Breakdown sum;
    std::int64_t window_ns = 0;
    for (const StepFigures& step : device.steps) {
      EXPECT_EQ(step.breakdown.total_ns(), step.window_ns);
      sum.add(step.breakdown);
      window_ns += step.window_ns;
    }
    EXPECT_LT(static_cast<double>(sum.of(Phase::other)), 0.02 * static_cast<double>(window_ns))
        << "device " << device.device << " of rank " << device.rank;
    EXPECT_EQ(sum.of(Phase::unphased), 0);
    tables.push_back(sum);
  }
  return tables;
}

std::map<std::string, std::int64_t> count_kernels(const Trace& trace, std::int32_t device,
                                                  std::int64_t step) {
  std::map<std::int64_t, const Call*> calls;
  for (const Call& call : trace.calls) calls[call.correlation] = &call;
  std::map<std::string, std::int64_t> counts;
  const Span span = trace.steps[static_cast<std::size_t>(step)].span;
  for (const Work& work : trace.work) {
    const auto call = calls.find(work.correlation);
    if (work.device == device && call != calls.end() &&
        span.contains(call->second->span.begin_ns)) {
      ++counts[trace.names[work.name.index]];
    }
  }
  return counts;
}

TEST(CuptiTraining, OfOneDeviceIsAccountedForToTheNanosecond) {
  const Trace trace = record({});
  expect_whole(trace);
  const auto tables = account({{trace}});
  ASSERT_EQ(tables.size(), 1u);
  for (const Phase phase :
       {Phase::data, Phase::forward, Phase::loss, Phase::backward, Phase::optimizer}) {
    EXPECT_GT(tables[0].of(phase), 0) << to_string(phase);
  }
  for (const Activity activity : {Activity::compute, Activity::copy, Activity::stall}) {
    EXPECT_GT(tables[0].of(activity), 0) << to_string(activity);
  }
  EXPECT_EQ(tables[0].of(Activity::communication), 0);
  const auto first = count_kernels(trace, 0, 0);
  EXPECT_GT(first.size(), 10u);
  for (std::int64_t step = 1; step < kRecordedSteps; ++step) {
    EXPECT_EQ(count_kernels(trace, 0, step), first) << "every step runs the same kernels";
  }
}

TEST(CuptiTraining, OfDataParallelHasItsCollectivesOnBothDevices) {
  if (gpus_count() < 2) GTEST_SKIP() << "takes two GPUs";
  const Trace trace = record_dp();
  expect_whole(trace);
  const auto tables = account({{trace}});
  ASSERT_EQ(tables.size(), 2u);
  for (const Breakdown& table : tables) {
    for (const Phase phase :
         {Phase::replicate, Phase::forward, Phase::backward, Phase::grad_reduce}) {
      const std::int64_t busy_ns =
          (table[{phase, Activity::compute, {}}]) + (table[{phase, Activity::communication, {}}]);
      EXPECT_GT(busy_ns, 0) << to_string(phase);
    }
  }
  EXPECT_GT(tables[0].of(Phase::scatter), 0);
  std::map<CollectiveKind, std::int64_t> bytes;
  for (const Collective& collective : trace.collectives) {
    ASSERT_TRUE(collective.work);
    const Work& work = trace.work[*collective.work];
    EXPECT_EQ(work.device, collective.device);
    EXPECT_EQ(work.span, collective.span);
    EXPECT_EQ(work.activity, Activity::communication);
    EXPECT_EQ(collective.root, 0);
    const bool broadcasts = collective.kind == CollectiveKind::broadcast;
    EXPECT_NE(trace.names[work.name.index].find(broadcasts ? "Broadcast" : "Reduce"),
              std::string::npos)
        << trace.names[work.name.index];
    bytes[collective.kind] += collective.bytes;
  }
  // One order for both kinds, and the same on both devices.
  std::map<std::int64_t, std::vector<std::int64_t>> bytes_by_sequence;
  for (const Collective& collective : trace.collectives) {
    bytes_by_sequence[collective.sequence].push_back(collective.bytes);
  }
  for (const auto& [sequence, both] : bytes_by_sequence) {
    ASSERT_EQ(both.size(), 2u);
    EXPECT_EQ(both[0], both[1]);
  }
  EXPECT_EQ(static_cast<std::int64_t>(bytes_by_sequence.size()),
            bytes_by_sequence.rbegin()->first - bytes_by_sequence.begin()->first + 1);
  const std::int64_t expected = 2 * kRecordedSteps * *trace.info.workload.gradient_bytes;
  EXPECT_EQ(bytes[CollectiveKind::broadcast], expected);
  EXPECT_EQ(bytes[CollectiveKind::reduce], expected);
}

TEST(CuptiTraining, OfDistributedDataParallelHasItsBuckets) {
  const ddpprof::Run run = record_ddp();
  const auto tables = account(run);
  for (const Trace& trace : run.ranks) {
    SCOPED_TRACE("rank " + std::to_string(trace.info.rank));
    expect_whole(trace);
    std::int64_t bytes = 0;
    for (const Collective& collective : trace.collectives) {
      if (!collective.gradient) continue;
      bytes += collective.bytes;
      EXPECT_TRUE(collective.bucket);
      if (ranks_count() == 1) continue;
      ASSERT_TRUE(collective.work);
      const Work& work = trace.work[*collective.work];
      EXPECT_EQ(work.span, collective.span);
      EXPECT_NE(trace.names[work.name.index].find("AllReduce"), std::string::npos);
      EXPECT_LE(*collective.ready_ns, collective.span.begin_ns);
    }
    EXPECT_EQ(bytes, kRecordedSteps * *trace.info.workload.gradient_bytes);
  }
  for (const Breakdown& table : tables) {
    const std::int64_t copies_ns = table[{Phase::bucket_copy, Activity::compute, {}}] +
                                   table[{Phase::bucket_copy, Activity::copy, {}}];
    EXPECT_GT(copies_ns, 0);
    EXPECT_LT(copies_ns, table.of(Phase::backward));
  }
}

// No rank can be done with an all-reduce before the other began it, and all end it together.
TEST(CuptiTraining, OfTwoRanksIsOnOneClock) {
  if (ranks_count() < 2) GTEST_SKIP() << "takes two GPUs";
  const ddpprof::Run run = record_ddp();
  const auto& [a, b] = std::pair(run.ranks[0], run.ranks[1]);
  const std::int64_t margin_ns =
      *a.info.device_clock_uncertainty_ns + *b.info.device_clock_uncertainty_ns;
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  ASSERT_FALSE(a.collectives.empty());
  for (std::size_t i = 0; i < a.collectives.size(); ++i) {
    const Span one = a.collectives[i].span, other = b.collectives[i].span;
    EXPECT_GT(one.end_ns + margin_ns, other.begin_ns);
    EXPECT_GT(other.end_ns + margin_ns, one.begin_ns);
    EXPECT_LT(std::abs(one.end_ns - other.end_ns), margin_ns + 50'000);
  }
  const MatchedCollectives matched = match_collectives(run);
  EXPECT_TRUE(matched.are_known);
  EXPECT_TRUE(matched.issues.empty()) << matched.issues.front().text;
}

std::string losses_of(const Arguments& more, bool is_ddp) {
  const TemporaryFolder folder;
  const auto metrics = folder.path() / "metrics.jsonl";
  Arguments arguments = {"--workload", "digits-mlp", "--steps",
                         "40",         "--metrics",  metrics.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  for (std::string& argument : arguments) {
    if (argument == "TRACE") argument = (folder.path() / "trace{rank}.json.gz").string();
  }
  if (is_ddp) {
    EXPECT_EQ(run_ranks(ranks_count(), arguments),
              std::vector<int>(static_cast<std::size_t>(ranks_count())));
  } else {
    TrainerProcess process(arguments);
    EXPECT_EQ(process.wait(), 0) << process.error();
  }
  std::ifstream file(metrics);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CuptiTraining, ChangesNoLossByABit) {
  for (const std::string strategy : {"single", "dp", "ddp"}) {
    Arguments arguments;
    if (strategy != "ddp") arguments = {"--strategy", strategy};  // run_ranks() says it
    if (strategy == "dp") {
      const Arguments more = two_replicas();
      arguments.insert(arguments.end(), more.begin(), more.end());
    }
    const std::string without = losses_of(arguments, strategy == "ddp");
    EXPECT_GT(std::ranges::count(without, '\n'), 30) << without;
    for (const std::string recorder : {"cupti", "events"}) {
      // Two replicas on one GPU are refused: whose work is whose is not told.
      if (recorder == "cupti" && strategy == "dp" && gpus_count() < 2) continue;
      Arguments recorded = arguments;
      recorded.insert(recorded.end(), {"--trace", "TRACE", "--recorder", recorder});
      EXPECT_EQ(losses_of(recorded, strategy == "ddp"), without) << strategy << " " << recorder;
    }
  }
}

TEST(CuptiTraining, GivesWayToAnotherToolAndSaysSo) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "trace.json.gz";
  TrainerProcess process(recorded_bert({}, path), {{"NSYS_PROFILING_SESSION_ID", "1"}});
  EXPECT_EQ(process.wait(), 0) << process.error();
  EXPECT_NE(process.error().find("phases alone are timed"), std::string::npos) << process.error();
  const Trace trace = read(path);
  EXPECT_EQ(trace.info.recorder, kEventRecorder);
  ASSERT_EQ(trace.issues.size(), 1u);
  EXPECT_EQ(trace.issues[0].code, "recorded-without-cupti");
  EXPECT_NE(trace.issues[0].text.find("NSYS_PROFILING_SESSION_ID"), std::string::npos);

  TrainerProcess insisting(recorded_bert({"--recorder", "cupti"}, path),
                           {{"NSYS_PROFILING_SESSION_ID", "1"}});
  EXPECT_EQ(insisting.wait(), 1);
  EXPECT_NE(insisting.error().find("--recorder cupti: another tool"), std::string::npos)
      << insisting.error();
}

}  // namespace
}  // namespace ddpprof::test

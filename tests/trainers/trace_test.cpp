// What the trainers record.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/trainers/trainer_process.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr int kRecordedSteps = 5;

Arguments small_bert(Arguments more) {
  more.insert(more.begin(), {"--workload", "bert-base", "--layers", "2", "--width", "64", "--seq",
                             "16", "--vocab", "500", "--batch", "12", "--threads", "1", "--warmup",
                             "4", "--steps", std::to_string(4 + kRecordedSteps)});
  return more;
}

Trace read_trace(const std::filesystem::path& path) {
  return read_native(read_file(path), path.string());
}

std::vector<Trace> record_ddp(Arguments more) {
  const TemporaryFolder folder;
  more.insert(more.end(), {"--trace", (folder.path() / "{rank}.json.gz").string()});
  EXPECT_EQ(run_ranks(2, small_bert(std::move(more))), (std::vector<int>{0, 0}));
  return {read_trace(folder.path() / "0.json.gz"), read_trace(folder.path() / "1.json.gz")};
}

std::set<Phase> phases(const Trace& trace) {
  std::set<Phase> result;
  for (const Scope& scope : trace.scopes) {
    result.insert(scope.phase);
  }
  return result;
}

std::vector<Scope> scopes_named(const Trace& trace, std::string_view name) {
  std::vector<Scope> result;
  std::ranges::copy_if(trace.scopes, std::back_inserter(result), [&](const Scope& scope) {
    return trace.names.at(scope.name.index) == name;
  });
  return result;
}

bool contains(const Span& outer, const Span& inner) {
  return outer.begin_ns <= inner.begin_ns && inner.end_ns <= outer.end_ns;
}

std::vector<Collective> gradient_reductions(const Trace& trace) {
  std::vector<Collective> result;
  std::ranges::copy_if(trace.collectives, std::back_inserter(result), &Collective::gradient);
  return result;
}

// Each scope of `inner` lies in one of `outer`; one of either a step. Ranges are named as in
// PyTorch's own traces, and around ours.
void expect_one_in_each(const Trace& trace, std::string_view outer, std::string_view inner) {
  const std::vector<Scope> outers = scopes_named(trace, outer);
  const std::vector<Scope> inners = scopes_named(trace, inner);
  EXPECT_EQ(outers.size(), static_cast<std::size_t>(kRecordedSteps)) << outer;
  ASSERT_EQ(inners.size(), outers.size()) << inner;
  for (std::size_t i = 0; i < outers.size(); ++i) {
    EXPECT_TRUE(contains(outers[i].span, inners[i].span)) << inner;
  }
}

// Each bucket's all-reduce is handed over in a scope of its own, which does not compute, by the
// thread that brought the bucket's last gradient.
void expect_launched_in_scopes(const Trace& trace, const std::vector<Collective>& reductions) {
  const std::vector<Scope> launches = scopes_named(trace, "all_reduce");
  ASSERT_EQ(launches.size(), reductions.size());
  const std::vector<Scope> copies = scopes_named(trace, "bucket_copy");
  for (std::size_t i = 0; i < launches.size(); ++i) {
    EXPECT_EQ(launches[i].phase, Phase::all_reduce);
    EXPECT_FALSE(launches[i].computes);
    EXPECT_TRUE(contains(launches[i].span, Span{*reductions[i].ready_ns, *reductions[i].ready_ns}));
    EXPECT_TRUE(std::ranges::any_of(
        copies, [&](const Scope& copy) { return contains(copy.span, launches[i].span); }));
  }
}

// "17214464, 263168"
std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::istringstream stream(text);
  std::string size;
  while (std::getline(stream, size, ',')) {
    sizes.push_back(std::stoll(size));
  }
  return sizes;
}

void expect_sound_steps(const Trace& trace) {
  ASSERT_EQ(trace.steps.size(), static_cast<std::size_t>(kRecordedSteps));
  for (std::size_t i = 1; i < trace.steps.size(); ++i) {
    EXPECT_EQ(trace.steps[i].index, trace.steps[i - 1].index + 1);
    EXPECT_EQ(trace.steps[i].span.begin_ns, trace.steps[i - 1].span.end_ns) << "no gap";
  }
  EXPECT_EQ(trace.info.dropped_records, 0);
  EXPECT_EQ(trace.info.counts.at("forward"), kRecordedSteps);
  EXPECT_EQ(trace.info.counts.at("backward"), kRecordedSteps);
  EXPECT_EQ(trace.info.counts.at("optimizer"), kRecordedSteps);
  expect_one_in_each(trace, "optimizer", "Optimizer.step#AdamW.step");
  expect_one_in_each(trace, "optimizer", "Optimizer.zero_grad#AdamW.zero_grad");
}

TEST(DdpTrace, HasEveryBucketsAllReduceOfEveryStep) {
  const std::vector<Trace> ranks = record_ddp({"--bucket-cap-mb", "0.1"});
  for (const Trace& trace : ranks) {
    expect_sound_steps(trace);
    expect_one_in_each(trace, "DistributedDataParallel.forward", "forward");
    EXPECT_EQ(trace.info.ddp_logging_numbers.at("has_rebuilt_buckets"), 1);
    const auto sizes = parse_sizes(trace.info.ddp_logging_texts.at("rebuilt_bucket_sizes"));
    ASSERT_GE(sizes.size(), 3U);
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}),
              trace.info.workload.gradient_bytes);
    const std::vector<Collective> reductions = gradient_reductions(trace);
    ASSERT_EQ(reductions.size(), sizes.size() * kRecordedSteps);
    for (std::size_t i = 0; i < reductions.size(); ++i) {
      const std::size_t bucket = i % sizes.size();
      EXPECT_EQ(reductions[i].kind, CollectiveKind::all_reduce);
      EXPECT_EQ(reductions[i].bucket, static_cast<std::int32_t>(bucket));
      EXPECT_EQ(reductions[i].bytes, sizes[bucket]);
      EXPECT_EQ(reductions[i].element_type, ElementType::float32);
      ASSERT_TRUE(reductions[i].ready_ns);
      EXPECT_LE(*reductions[i].ready_ns, reductions[i].span.begin_ns);
      EXPECT_LT(reductions[i].span.begin_ns, reductions[i].span.end_ns);
    }
    EXPECT_EQ(trace.info.counts.at("all_reduce"), static_cast<std::int64_t>(reductions.size()));
    expect_launched_in_scopes(trace, reductions);
  }
  const auto sequences = [](const Trace& trace) {
    std::vector<std::int64_t> result;
    std::ranges::transform(trace.collectives, std::back_inserter(result), &Collective::sequence);
    return result;
  };
  EXPECT_EQ(sequences(ranks[0]), sequences(ranks[1])) << "equal on all ranks";
}

TEST(DdpTrace, HasEveryPhaseAndTellsComputingFromWaiting) {
  const std::vector<Trace> ranks = record_ddp({});
  for (const Trace& trace : ranks) {
    EXPECT_EQ(phases(trace),
              (std::set<Phase>{Phase::data, Phase::forward, Phase::loss, Phase::backward,
                               Phase::bucket_copy, Phase::all_reduce, Phase::optimizer}));
    EXPECT_TRUE(trace.info.devices_are_threads);
    EXPECT_EQ(trace.info.world_size, 2);
    // Each backward ends with a wait for gloo, in which its thread does not compute.
    std::int64_t computing_ns = 0;
    std::int64_t whole_ns = 0;
    std::size_t copies_while_waiting = 0;
    for (const Scope& scope : trace.scopes) {
      if (scope.phase == Phase::backward) {
        (scope.computes ? computing_ns : whole_ns) += scope.span.length_ns();
      }
    }
    for (const Scope& copy : trace.scopes) {
      copies_while_waiting +=
          static_cast<std::size_t>(copy.phase == Phase::bucket_copy && copy.computes &&
                                   std::ranges::any_of(trace.scopes, [&](const Scope& scope) {
                                     return scope.phase == Phase::backward && scope.computes &&
                                            scope.span.end_ns <= copy.span.begin_ns &&
                                            copy.span.begin_ns - scope.span.end_ns < 1'000'000'000;
                                   }));
    }
    EXPECT_GT(computing_ns, 0);
    EXPECT_GT(whole_ns, computing_ns);
    const std::vector<Scope> drops = scopes_named(trace, "drop_graph");
    EXPECT_EQ(drops.size(), static_cast<std::size_t>(kRecordedSteps));
    EXPECT_TRUE(std::ranges::all_of(drops, &Scope::computes));
    EXPECT_GT(copies_while_waiting, 0U) << "gradients are copied out of the buckets at the end";
  }
}

// Each gradient goes into its bucket once a step, in the backward that reduces; at its end one
// finalize waits for the buckets and copies them out.
void expect_bucket_copies(const Trace& trace, bool are_copied_out) {
  const std::int64_t parameters = trace.info.ddp_logging_numbers.at("num_parameter_tensors");
  const std::vector<Scope> copies_in = scopes_named(trace, "bucket_copy");
  EXPECT_EQ(copies_in.size(), static_cast<std::size_t>(parameters * kRecordedSteps));
  const std::vector<Scope> finalizes = scopes_named(trace, "finalize_buckets");
  EXPECT_EQ(finalizes.size(), static_cast<std::size_t>(kRecordedSteps));
  const std::vector<Scope> copies_out =
      scopes_named(trace, "torch.distributed.ddp.reducer::copy_bucket_to_grad");
  EXPECT_EQ(copies_out.size(), are_copied_out ? copies_in.size() : 0U);
  for (const Scope& copy : copies_in) {
    EXPECT_TRUE(copy.computes);
    EXPECT_EQ(copy.phase, Phase::bucket_copy);
  }
  for (const Scope& finalize : finalizes) {
    EXPECT_FALSE(finalize.computes) << "it waits for the last all-reduce";
    EXPECT_EQ(finalize.phase, Phase::bucket_copy);
    EXPECT_TRUE(std::ranges::any_of(trace.scopes, [&](const Scope& scope) {
      return scope.phase == Phase::backward && !scope.computes &&
             contains(scope.span, finalize.span);
    }));
    for (const Scope& copy : copies_in) {
      EXPECT_FALSE(contains(finalize.span, copy.span));
    }
  }
  for (const Scope& copy : copies_out) {
    EXPECT_TRUE(copy.computes);
    EXPECT_TRUE(std::ranges::any_of(
        finalizes, [&](const Scope& finalize) { return contains(finalize.span, copy.span); }));
  }
}

TEST(DdpTrace, HasEveryCopyIntoAndOutOfABucketWithEveryOption) {
  for (const Arguments& options : std::vector<Arguments>{{},
                                                         {"--bucket-cap-mb", "0.1"},
                                                         {"--gradient-as-bucket-view"},
                                                         {"--static-graph"},
                                                         {"--find-unused-parameters"},
                                                         {"--micro-steps", "3"},
                                                         {"--no-broadcast-buffers"}}) {
    SCOPED_TRACE(options.empty() ? "defaults" : options.front());
    const bool are_views = !options.empty() && options.front() == "--gradient-as-bucket-view";
    for (const Trace& trace : record_ddp(options)) {
      expect_bucket_copies(trace, !are_views);
      EXPECT_EQ(trace.info.dropped_records, 0);
    }
  }
}

TEST(DdpTrace, TheMapOfUsedParametersIsNoGradient) {
  const std::vector<Trace> ranks = record_ddp({"--find-unused-parameters"});
  const Trace& trace = ranks[0];
  const auto reductions = gradient_reductions(trace);
  const auto is_map = [](const Collective& collective) {
    return collective.kind == CollectiveKind::all_reduce && !collective.gradient;
  };
  EXPECT_EQ(std::ranges::count_if(trace.collectives, is_map), kRecordedSteps);
  EXPECT_EQ(scopes_named(trace, "search_unused_parameters").size(),
            static_cast<std::size_t>(kRecordedSteps));
  EXPECT_FALSE(reductions.empty());
}

TEST(DdpTrace, AccumulationReducesOnceAStep) {
  const std::vector<Trace> ranks = record_ddp({"--micro-steps", "3"});
  const Trace& trace = ranks[0];
  const auto sizes = parse_sizes(trace.info.ddp_logging_texts.at("rebuilt_bucket_sizes"));
  EXPECT_EQ(gradient_reductions(trace).size(), sizes.size() * kRecordedSteps);
  EXPECT_EQ(trace.info.counts.at("backward"), 3 * kRecordedSteps);
  EXPECT_EQ(trace.info.workload.micro_steps, 3);
}

TEST(DpTrace, HasTheReplicasThreadsAndItsOwnPhases) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "dp.json.gz";
  TrainerProcess process(small_bert({"--strategy", "dp", "--trace", path.string()}));
  ASSERT_EQ(process.wait(), 0) << process.error();
  const Trace trace = read_trace(path);
  expect_sound_steps(trace);
  EXPECT_EQ(
      phases(trace),
      (std::set<Phase>{Phase::data, Phase::scatter, Phase::replicate, Phase::forward, Phase::gather,
                       Phase::loss, Phase::backward, Phase::grad_reduce, Phase::optimizer}));
  for (const char* part : {"scatter", "replicate", "parallel_apply", "gather"}) {
    expect_one_in_each(trace, "DataParallel.forward", part);
  }
  EXPECT_EQ(trace.info.devices.size(), 2U);
  EXPECT_EQ(trace.info.counts.at("replicate"), kRecordedSteps);
  EXPECT_EQ(trace.info.counts.at("gather"), kRecordedSteps);
  EXPECT_EQ(trace.info.counts.at("scatter"), 2 * kRecordedSteps) << "tokens and segments";
  for (const Scope& scope : trace.scopes) {
    const Thread& thread = trace.threads.at(scope.thread.index);
    EXPECT_EQ(thread.replica, scope.replica);
    EXPECT_EQ(thread.is_main, !scope.replica);
  }
  // Fresh threads: one a replica for each forward and each backward.
  EXPECT_EQ(trace.threads.size(), 1U + 2 * 2 * kRecordedSteps);
}

TEST(DpTrace, OfAPoolHasOneThreadAReplica) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "dp.json.gz";
  TrainerProcess process(
      small_bert({"--strategy", "dp", "--dp-threads", "pool", "--trace", path.string()}));
  ASSERT_EQ(process.wait(), 0) << process.error();
  const Trace trace = read_trace(path);
  expect_sound_steps(trace);
  EXPECT_EQ(trace.threads.size(), 1U + 2);
}

TEST(SingleTrace, IsOneThreadThatComputes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "single.json.gz";
  TrainerProcess process(small_bert({"--trace", path.string()}));
  ASSERT_EQ(process.wait(), 0) << process.error();
  const Trace trace = read_trace(path);
  expect_sound_steps(trace);
  EXPECT_EQ(trace.threads.size(), 1U);
  EXPECT_TRUE(std::ranges::all_of(trace.scopes, &Scope::computes));
  EXPECT_EQ(trace.info.workload.model, "bert 2 layers, width 64, 1 head");
  EXPECT_EQ(trace.info.workload.sequence_length, 16);
}

TEST(Trace, OfManyRanksNeedsTheRankInItsName) {
  EXPECT_EQ(run_ranks(2, {"--steps", "1", "--batch", "8", "--trace", "/nowhere/t.json"}),
            (std::vector<int>{2, 2}));
}

}  // namespace
}  // namespace ddpprof::test

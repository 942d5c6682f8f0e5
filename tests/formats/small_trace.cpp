#include "tests/formats/small_trace.h"

namespace ddpprof::test {
namespace {

TraceInfo small_info() {
  TraceInfo info;
  info.workload = {.name = "digits-mlp",
                   .model = "mlp 64-256-256-10",
                   .dtype = "fp32",
                   .global_batch = 64,
                   .parameters_count = 85002,
                   .gradient_bytes = 340008,
                   .sequence_length = {},
                   .micro_steps = 1};
  info.strategy = "ddp";
  info.rank = 1;
  info.world_size = 2;
  info.host = "node \"a\"";
  info.boot_id = "0d3a";
  info.clock_begin = {1'000, 1'700'000'000'000'001'000};
  info.clock_end = {9'000'000, 1'700'000'000'009'000'000};
  info.devices = {{"GPU of the test", 80'000'000'000}};
  info.dropped_records = 3;
  info.versions = {{"torch", "2.11.0"}};
  info.counts = {{"all_reduce", 2}, {"optimizer", 2}};
  info.ddp_logging_numbers = {{"bucket_cap_bytes", 26'214'400}};
  info.ddp_logging_texts = {{"backend_name", "nccl"}};
  info.peak_memory_bytes = {123'456, std::nullopt};
  return info;
}

}  // namespace

Trace small_trace() {
  Trace trace;
  trace.info = small_info();
  NameTable names(trace.names);
  const auto name = [&](std::string_view text) { return names.intern(text); };
  trace.threads = {{.system_id = 4711,
                    .life = {1'500, 9'000'000},
                    .name = "main",
                    .is_main = true,
                    .replica = {}},
                   {.system_id = 4720,
                    .life = {2'000, 8'000'000},
                    .name = "replica 1",
                    .is_main = false,
                    .replica = 1}};
  trace.steps = {{.index = 10, .visit = 0, .span = {2'000'000, 4'000'000}},
                 {.index = 11, .visit = 0, .span = {4'000'000, 6'000'500}}};
  trace.scopes = {{.span = {2'000'100, 2'500'000},
                   .thread = {0},
                   .phase = Phase::forward,
                   .name = name("DistributedDataParallel.forward"),
                   .computes = true,
                   .cpu_ns = 490'000,
                   .replica = {}},
                  {.span = {2'500'001, 3'900'000},
                   .thread = {1},
                   .phase = Phase::backward,
                   .name = name("back\nward \xe2\x86\x90"),
                   .computes = false,
                   .cpu_ns = {},
                   .replica = 1}};
  trace.calls = {{{2'100'000, 2'104'999}, {0}, name("cudaLaunchKernel"), 77, false},
                 {{3'000'000, 3'100'000}, {0}, name("cudaStreamSynchronize"), 0, true}};
  const auto work = [&](Span span, std::int64_t stream, Activity activity, std::string_view text,
                        std::int64_t correlation, std::int64_t bytes) {
    trace.work.push_back({.span = span,
                          .device = 1,
                          .stream = stream,
                          .activity = activity,
                          .name = name(text),
                          .correlation = correlation,
                          .bytes = bytes});
  };
  work({2'110'000, 2'200'000}, 7, Activity::compute, "ampere_sgemm_128x64_tn", 77, 0);
  work({2'300'000, 2'700'000}, 20, Activity::communication,
       "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 78, 0);
  work({2'710'000, 2'711'000}, 7, Activity::copy, "Memcpy HtoD (Pinned -> Device)", 79, 65'536);
  work({2'712'000, 2'712'500}, 7, Activity::copy, "Memset (Device)", 80, 4);
  work({2'720'000, 2'730'000}, 7, Activity::communication, "Memcpy PtoP (Device -> Device)", 0,
       512);
  trace.collectives = {{.kind = CollectiveKind::all_reduce,
                        .communicator = name("0"),
                        .sequence = 41,
                        .bytes = 340'008,
                        .element_type = ElementType::float32,
                        .gradient = true,
                        .bucket = 0,
                        .root = {},
                        .device = 1,
                        .ready_ns = 2'250'000,
                        .span = {2'300'000, 2'700'000},
                        .work = 1},
                       {.kind = CollectiveKind::broadcast,
                        .communicator = name("0"),
                        .sequence = 42,
                        .bytes = 8,
                        .element_type = {},
                        .gradient = false,
                        .bucket = {},
                        .root = 0,
                        .device = 1,
                        .ready_ns = {},
                        .span = {2'650'000, 2'750'000},
                        .work = {}}};
  trace.issues = {{"lost-records", "the device's buffer was full", 3}};
  return trace;
}

Trace phases_trace() {
  const Trace small = small_trace();
  Trace trace;
  trace.info = small.info;
  trace.info.devices.front().number = 1;
  trace.info.dropped_records = 0;
  trace.threads = {small.threads.front()};
  trace.steps = small.steps;
  const auto stretch = [&](Span span, std::int64_t step, Phase phase) {
    trace.device_phases.push_back({.span = span, .device = 0, .step = step, .phase = phase});
  };
  stretch({2'001'000, 2'001'500}, 10, Phase::data);
  stretch({2'001'500, 2'700'000}, 10, Phase::forward);
  stretch({2'700'000, 4'100'001}, 10, Phase::backward);
  stretch({4'100'001, 4'100'001}, 11, Phase::other);
  stretch({4'100'001, 6'200'000}, 11, Phase::forward);
  trace.names = {"0"};
  trace.collectives = {small.collectives.front()};
  trace.collectives.front().communicator = {0};
  trace.collectives.front().device = 0;
  trace.collectives.front().work.reset();
  return trace;
}

}  // namespace ddpprof::test

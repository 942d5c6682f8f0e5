#include "trainers/common/session.h"

#include "profiler/record/device_source.h"
#include "profiler/trace/error.h"
#include "trainers/common/accelerator.h"
#include "trainers/common/planted_delay.h"
#include "trainers/common/runs.h"
#include "trainers/common/threads.h"
#include "trainers/common/trainer_kind.h"
#include "trainers/strategies.h"

#include <cstdio>
#include <cstdlib>
#include <set>

#include <ATen/Parallel.h>

namespace ddpprof {
namespace {

DeviceSlice slice_devices(const StrategyRow& row, const TrainOptions& options,
                          const LauncherEnvironment& place) {
  if (row.has_ranks) {
    return {.first = place.rank, .count = 1, .total = place.world_size};
  }
  const std::int64_t devices = row.has_workers ? options.workers : 1;
  return {.first = 0, .count = devices, .total = devices};
}

// Where a job must write a file a rank, the user says where the rank goes in the name.
std::filesystem::path trace_path(const TrainOptions& options, const LauncherEnvironment& place,
                                 bool is_controlled) {
  std::string path = options.trace.string();
  const std::string mark = "{rank}";
  const auto at = path.find(mark);
  if (at != std::string::npos) {
    path.replace(at, mark.size(), std::to_string(place.rank));
  } else if (!path.empty() && place.world_size > 1 && !is_controlled) {
    throw UsageError("--trace " + path, "would be written by every rank",
                     "put {rank} into the name, such as ddp-{rank}.json.gz");
  }
  return path;
}

// Before anything else of CUDA is called.
std::unique_ptr<DeviceSource> make_source(const TrainOptions& options) {
  const std::set<std::int32_t> devices(options.devices.begin(), options.devices.end());
  const bool shares_device = devices.size() < options.devices.size();
  std::unique_ptr<DeviceSource> source = make_device_source(
      options.recorder, shares_device ? "--devices names a GPU twice, and what runs there does not "
                                        "tell for which replica"
                                      : "");
  if (source && options.recorder == RecorderChoice::cupti && source->recorder() != kCuptiRecorder) {
    throw Error("--recorder cupti", std::string(source->reason()),
                "--recorder events times phases alone and needs no CUPTI");
  }
  return source;
}

void say(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    std::fprintf(stderr, "%s: %s\n", std::string(kTrainerKind.program).c_str(), note.c_str());
  }
}

}  // namespace

void run_session(const TrainOptions& options, ControlChannel* control) {
  if (options.probe) {
    std::fputs(to_line(probe_machine()).c_str(), stdout);
    return;
  }
  const StrategyRow& row = find_strategy(options.strategy);
  const LauncherEnvironment place =
      row.has_ranks ? read_launcher_environment(
                          [](const char* name) -> const char* { return std::getenv(name); })
                    : LauncherEnvironment{};
  const DeviceSlice devices = slice_devices(row, options, place);
  check_batch_divides(options.batch, devices.total, options.micro_steps);
  if (options.delay) {
    check_delay_fits(*options.delay, row.name, devices.count, kTrainerKind.devices_are_threads);
  }
  const std::filesystem::path trace = trace_path(options, place, control != nullptr);
  const std::int64_t devices_of_host = row.has_ranks ? place.local_world_size : devices.total;
  const std::int64_t threads =
      options.threads.value_or(default_threads(usable_cores(), devices_of_host));
  at::set_num_threads(static_cast<int>(threads));

  check_libraries();
  apply_switches(options);
  std::unique_ptr<DeviceSource> source = make_source(options);
  const std::vector<at::Device> open = open_devices(options, devices, place);
  if (source) {
    // Of every rank: another tool may be with one of them alone.
    if (!source->reason().empty()) {
      const std::string rank =
          place.world_size > 1 ? "rank " + std::to_string(place.rank) + ": " : "";
      say({rank + "phases alone are timed on the GPU: " + std::string(source->reason())});
    }
    source->open(ordinals_of(open));
  }

  // CPU time of a thread says nothing while others work for it, or while it works for a GPU.
  Recorder recorder({.cpu_time = threads == 1 && kTrainerKind.devices_are_threads,
                     .service_threads = row.has_ranks ? kTrainerKind.collectives_at_once : 0},
                    std::move(source));
  const ThreadScope main_thread(recorder, "main", true);
  const Workload workload =
      make_workload(options.workload, options.workload_options, options.precision);
  PlantedDelay delay(options.delay, open.front(), recorder);
  const StrategyInput input{
      .options = options,
      .workload = workload,
      .place = place,
      .devices = open,
      .fault = options.fault.empty() ? std::nullopt
                                     : std::optional(parse_fault(options.fault, place.world_size)),
      .delay = delay,
      .recorder = recorder,
      .control = control};
  check_batch_fits(options.batch, workload.training.samples_count);
  if (control != nullptr) {
    control->send(ProgressMessage{.stage = "set-up", .step = 0, .steps_count = 1});
  }
  const std::unique_ptr<Strategy> strategy = row.make(input);
  if (place.rank == 0) {
    say(options.notes);
  }
  TrainingLoop loop(input, *strategy, devices);
  RunContext context{.input = input,
                     .strategy = *strategy,
                     .loop = loop,
                     .info = describe_training(input, *strategy),
                     .trace = trace};
  if (control != nullptr) {
    run_orders(context, *control);
  } else {
    run_alone(context);
  }
  strategy->shut_down();
}

}  // namespace ddpprof

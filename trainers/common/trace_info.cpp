#include "trainers/common/trace_info.h"

#include "trainers/common/accelerator.h"
#include "trainers/common/parameters.h"
#include "trainers/common/trainer_kind.h"

#include <string>

namespace ddpprof {

TraceInfo describe_training(const StrategyInput& input, const Strategy& strategy) {
  const TrainOptions& options = input.options;
  TraceInfo info;
  info.workload = {.name = options.workload,
                   .model = input.workload.model_text,
                   .dtype = std::string(to_string(options.precision)),
                   .global_batch = options.batch,
                   .parameters_count = count_scalars(strategy.parameters()),
                   .gradient_bytes = count_bytes(strategy.parameters()),
                   .sequence_length = input.workload.sequence_length,
                   .micro_steps = options.micro_steps};
  info.strategy = options.strategy;
  info.rank = input.place.rank;
  info.world_size = input.place.world_size;
  for (const at::Device device : input.devices) {
    info.devices.push_back(describe_device(device));
  }
  info.devices_are_threads = kTrainerKind.devices_are_threads;
  info.versions = library_versions();
  return info;
}

}  // namespace ddpprof

#include "trainers/common/trace_info.h"

#include "trainers/common/parameters.h"

#include <fstream>
#include <string>

#include <torch/version.h>
#include <unistd.h>

namespace ddpprof {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "CPU";
}

}  // namespace

TraceInfo describe_training(const StrategyInput& input, Strategy& strategy, DeviceSlice devices) {
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
  const std::int64_t memory_bytes =
      std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  info.devices.assign(static_cast<std::size_t>(devices.count),
                      {.name = processor_name(), .memory_bytes = memory_bytes});
  info.devices_are_threads = true;
  info.versions["torch"] = TORCH_VERSION;
  return info;
}

}  // namespace ddpprof

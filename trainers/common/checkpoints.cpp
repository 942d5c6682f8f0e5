#include "trainers/common/checkpoints.h"

#include "profiler/formats/file.h"
#include "trainers/common/accelerator.h"
#include "trainers/workloads/model.h"

#include <cstdio>
#include <mutex>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/zeros.h>

namespace ddpprof {
namespace {

void add(NamedTensors& all, const std::string& prefix, const NamedTensors& part) {
  for (std::size_t i = 0; i < part.names.size(); ++i) {
    all.names.push_back(prefix + part.names[i]);
    all.tensors.push_back(part.tensors[i]);
  }
}

// Of this process: the CPU's and that of each GPU it drives.
std::vector<at::Generator> generators(const std::vector<at::Device>& devices) {
  std::vector<at::Generator> result = {at::detail::getDefaultCPUGenerator()};
  for (const at::Device device : devices) {
    if (!device.is_cpu()) {
      result.push_back(at::globalContext().defaultGenerator(device));
    }
  }
  return result;
}

// Shape: (ranks, bytes) each, on the CPU; collective.
NamedTensors random_states(const RunContext& context) {
  NamedTensors result;
  const LauncherEnvironment& place = context.input.place;
  for (at::Generator& generator : generators(context.input.devices)) {
    at::Tensor own;  // (bytes)
    {
      const std::lock_guard lock(generator.mutex());
      own = generator.get_state();
    }
    // Sums of integers on the device: what every backend can do.
    at::Tensor all = at::zeros({place.world_size, own.numel()},
                               at::TensorOptions(context.strategy.device()).dtype(at::kInt));
    all.select(0, place.rank).copy_(own);
    context.strategy.sum_over_ranks(all);
    result.names.push_back("random." + std::to_string(result.names.size()));
    result.tensors.push_back(all.to(at::kCPU).to(at::kByte));
  }
  return result;
}

void put_back_random_states(const RunContext& context, const NamedTensors& states) {
  std::vector<at::Generator> all = generators(context.input.devices);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::lock_guard lock(all[i].mutex());
    all[i].set_state(states.tensors[i].select(0, context.input.place.rank).clone());
  }
}

}  // namespace

Checkpoints::Checkpoints(RunContext& context) : context_(context) {
  if (!context.input.options.checkpoint.empty() && context.input.place.rank == 0) {
    const FileReplacement trial(context.input.options.checkpoint);
  }
}

RunState Checkpoints::state() {
  const TrainOptions& options = context_.input.options;
  const Update& update = context_.loop.update();
  RunState state;
  state.step = context_.loop.steps_count();
  state.identity = {{"--workload", options.workload},
                    {"model", context_.input.workload.model_text},
                    {"--batch", std::to_string(options.batch)},
                    {"--seed", std::to_string(options.workload_options.seed)},
                    {"--precision", std::string(to_string(options.precision))},
                    {"optimizer", std::string(update.optimizer().name())}};
  const NamedTensors parameters = unique_parameters(context_.strategy.model());
  add(state.tensors, "model.", parameters);
  add(state.tensors, "model.", named_buffers(context_.strategy.model()));
  for (const Optimizer::State& part : update.optimizer().states()) {
    add(state.tensors, "optimizer." + std::string(part.name) + ".",
        {.names = parameters.names, .tensors = part.tensors});
  }
  add(state.tensors, "loss_scale.", update.scaling_state());
  state.layout = context_.strategy.layout();
  state.random = random_states(context_);
  return state;
}

void Checkpoints::resume() {
  const TrainOptions& options = context_.input.options;
  if (options.resume.empty()) {
    return;
  }
  RunState state = this->state();
  const bool has_random = read_checkpoint(options.resume, state);
  if (has_random) {
    put_back_random_states(context_, state.random);
  }
  context_.strategy.take_layout(state.layout);
  context_.loop.continue_from(state.step);
  if (context_.input.place.rank == 0) {
    std::fprintf(stderr, "goes on after step %lld of %s%s\n", static_cast<long long>(state.step),
                 options.resume.c_str(),
                 has_random ? "" : ", which was written on other devices: dropout is drawn anew");
    if (state.step >= context_.loop.run_steps()) {
      std::fprintf(stderr,
                   "nothing is left to train: the run has %lld steps; --steps N makes it longer\n",
                   static_cast<long long>(context_.loop.run_steps()));
    }
  }
}

void Checkpoints::write_if_due(bool is_last) {
  const TrainOptions& options = context_.input.options;
  const std::int64_t step = context_.loop.steps_count();
  if (options.checkpoint.empty() ||
      (!is_last && (!options.checkpoint_every || step % *options.checkpoint_every != 0))) {
    return;
  }
  const RunState state = this->state();
  ++written_count_;
  if (context_.input.place.rank == 0) {
    const bool dies = dies_in_checkpoint(context_.input.fault, written_count_);
    write_checkpoint(options.checkpoint, state,
                     dies ? std::function<void()>(kill_this_process) : nullptr);
  }
}

}  // namespace ddpprof

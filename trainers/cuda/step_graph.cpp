// StepGraph on a GPU.
#include "trainers/common/accelerator.h"

#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>

namespace ddpprof {

struct StepGraph::State {
  at::Device device;
  at::cuda::CUDAGraph graph;
};

StepGraph::StepGraph(at::Device device) : state_(new State{.device = device, .graph = {}}) {}

StepGraph::~StepGraph() = default;

// The default stream cannot be captured. Of this thread alone: others may allocate meanwhile.
void StepGraph::capture(const std::function<void()>& work) {
  synchronize(state_->device);
  const c10::cuda::CUDAStreamGuard guard(
      c10::cuda::getStreamFromPool(/*isHighPriority=*/false, state_->device.index()));
  state_->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  work();
  state_->graph.capture_end();
}

void StepGraph::launch() { state_->graph.replay(); }

}  // namespace ddpprof

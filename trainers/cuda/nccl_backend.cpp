// NCCL's side of the accelerator: its version and its communicator. The one source that includes
// ProcessGroupNCCL.hpp.
#include "trainers/cuda/nccl_backend.h"

#include "profiler/trace/error.h"
#include "trainers/common/accelerator.h"

#include <cstdlib>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace ddpprof {

std::string nccl_version() { return c10d::getNcclVersion(); }

void check_nccl() {
  const std::string compiled = std::to_string(NCCL_MAJOR) + "." + std::to_string(NCCL_MINOR) + "." +
                               std::to_string(NCCL_PATCH);
  const std::string loaded = nccl_version();
  // The layout of PyTorch's options depends on it.
  if (loaded != compiled) {
    throw Error("NCCL", "is " + loaded + ", compiled for " + compiled,
                "libnccl.so.2 must be the one that PyTorch 2.11 brings; look for another one in "
                "LD_LIBRARY_PATH and LD_PRELOAD");
  }
}

c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                               const LauncherEnvironment& place, at::Device device,
                                               std::chrono::milliseconds timeout) {
  // A collective that never ends is noticed by a thread of PyTorch's, which ends the process. It
  // collects reports from all ranks before: a minute, unless it is told to be brief.
  ::setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "300", /*replace=*/0);
  const auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  auto backend =
      c10::make_intrusive<c10d::ProcessGroupNCCL>(store, place.rank, place.world_size, options);
  backend->setBoundDeviceId(device);
  backend->setSequenceNumberForGroup();
  // Now, not inside the first step.
  backend->eagerConnectSingleDevice(device);
  return backend;
}

}  // namespace ddpprof

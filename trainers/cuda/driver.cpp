#include "trainers/cuda/driver.h"

#include "profiler/trace/error.h"

#include <cuda_runtime_api.h>

namespace ddpprof {

void check_driver(int error) {
  if (error == cudaSuccess || error == cudaErrorNoDevice) {
    return;
  }
  int driver_version = 0;
  // 0: none is installed. cudaGetDeviceCount() calls that an old one.
  if (cudaDriverGetVersion(&driver_version) == cudaSuccess && driver_version == 0) {
    throw Error("GPU", "there is no NVIDIA driver on this machine",
                "ddpprof-train is the trainer that needs no GPU");
  }
  throw Error("CUDA", cudaGetErrorString(static_cast<cudaError_t>(error)),
              "nvidia-smi tells the driver's version; CUDA 13 needs 580 or newer");
}

}  // namespace ddpprof

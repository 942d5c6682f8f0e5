#include "profiler/record/cuda_error.h"

#include <new>

#include <cuda_runtime_api.h>

namespace ddpprof {

bool note_cuda_error(int code, const char* call, std::string& error) noexcept {
  if (code == cudaSuccess) return false;
  if (!error.empty()) return true;
  try {
    error = std::string(call) + ": " + cudaGetErrorString(static_cast<cudaError_t>(code));
  } catch (const std::bad_alloc&) {
    return true;
  }
  return true;
}

}  // namespace ddpprof

// What the names of calls and kernels tell. Without CUPTI: names of the CUDA runtime and driver.
#pragma once

#include <string_view>

namespace ddpprof {

// Whether attribution needs a call of this name: those that launch, copy or set, and those that
// wait. PyTorch makes some twenty others for each of them, and to be told of those would cost more
// than all the rest.
bool is_needed_call(std::string_view name);

// Whether the call waits for the device by its nature; a copy does unless both of its ends are on
// devices. Copies into pageable memory wait whatever the call: their record tells.
// Source: CUDA runtime API, "API synchronization behavior".
bool always_waits(std::string_view name);

// Whether the call launches kernels, so that work with its correlation must exist.
bool launches_kernels(std::string_view name);

// Whether a kernel, by its name in the object file or in words, moves data between ranks.
bool is_communication_kernel(std::string_view name);

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel", as other profilers write it.
std::string_view without_version(std::string_view name);

}  // namespace ddpprof

#include "profiler/record/call_names.h"

#include <algorithm>
#include <array>
#include <span>

namespace ddpprof {
namespace {

constexpr std::array<std::string_view, 17> kNeededCalls = {"cudaLaunchKernel",
                                                           "cudaLaunchCooperativeKernel",
                                                           "cudaGraphLaunch",
                                                           "cudaMemcpy",
                                                           "cudaMemset",
                                                           "cudaStreamSynchronize",
                                                           "cudaEventSynchronize",
                                                           "cudaDeviceSynchronize",
                                                           "cudaFree",
                                                           "cuLaunchKernel",
                                                           "cuLaunchCooperative",
                                                           "cuGraphLaunch",
                                                           "cuMemcpy",
                                                           "cuMemset",
                                                           "cuStreamSynchronize",
                                                           "cuEventSynchronize",
                                                           "cuCtxSynchronize"};

constexpr std::array<std::string_view, 4> kLaunches = {
    "cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cuLaunchKernel", "cuLaunchCooperative"};

bool starts_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings,
                             [name](std::string_view one) { return name.starts_with(one); });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool is_needed_call(std::string_view name) { return starts_with_any(name, kNeededCalls); }

bool always_waits(std::string_view name) {
  // Copies between devices are queued like kernels.
  if (name.find("Async") != std::string_view::npos || name.find("Peer") != std::string_view::npos) {
    return false;
  }
  return name.find("Synchronize") != std::string_view::npos || name.starts_with("cudaMemcpy") ||
         name.starts_with("cuMemcpy") || name.starts_with("cudaFree");
}

bool launches_kernels(std::string_view name) { return starts_with_any(name, kLaunches); }

// In an object file a name of n letters is "_Z<n><name><types>".
bool is_communication_kernel(std::string_view name) {
  if (name.starts_with("_Z")) {
    name.remove_prefix(2);
    while (!name.empty() && is_digit(name.front())) name.remove_prefix(1);
  }
  return name.starts_with("nccl") || name.starts_with("nvshmem");
}

std::string_view without_version(std::string_view name) {
  const auto at = name.rfind("_v");
  if (at == std::string_view::npos || at + 2 == name.size()) return name;
  return std::ranges::all_of(name.substr(at + 2), is_digit) ? name.substr(0, at) : name;
}

}  // namespace ddpprof

// What Nsight Systems reads from names: of kernels, copies and calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddpprof {

// "_ZN2at6nativeIfE6kernelEi" -> "at::native<float>::kernel(int)"; other names as they are.
std::string demangled_name(const std::string& name);

// Of a demangled name: "void at::(anonymous namespace)::Part<int>::kernel<float>(int)" -> "kernel".
std::string short_name(std::string_view name);

// Of "Memcpy HtoD (Pinned -> Device)" and "Memset (Device)", which is in `to`.
// Source: ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND; the words are those of CUPTI.
struct CopyWords {
  std::int64_t copy_kind = 0;     // 0: unknown
  std::int64_t from = 7, to = 7;  // 7: unknown
};
CopyWords copy_words(std::string_view name);

// Of a call that waits; 0: for what it waits its name does not say.
// Source: CUDA runtime and driver API; ENUM_CUPTI_SYNC_TYPE.
std::int64_t sync_type(std::string_view call);

}  // namespace ddpprof

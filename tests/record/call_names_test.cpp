#include "profiler/record/call_names.h"

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

TEST(CallNames, WhatLaunchesCopiesOrWaitsIsNeeded) {
  for (const char* name :
       {"cudaLaunchKernel_v7000", "cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernelExC_v11060",
        "cudaLaunchCooperativeKernel_v9000", "cudaGraphLaunch_v10000", "cudaMemcpyAsync_v3020",
        "cudaMemcpyPeerAsync_v4000", "cudaMemsetAsync_v3020", "cudaStreamSynchronize_v3020",
        "cudaEventSynchronize_v3020", "cudaDeviceSynchronize_v3020", "cudaFree_v3020",
        "cuLaunchKernel", "cuLaunchKernelEx", "cuMemcpyHtoDAsync_v2", "cuCtxSynchronize",
        "cuGraphLaunch"}) {
    EXPECT_TRUE(is_needed_call(name)) << name;
  }
  for (const char* name :
       {"cudaGetDevice_v3020", "cudaGetLastError_v3020", "cudaEventQuery_v3020",
        "cudaEventRecord_v3020", "cudaStreamWaitEvent_v3020", "cudaLaunchHostFunc_v10000",
        "cudaPeekAtLastError_v3020", "cuCtxGetCurrent", "cuKernelGetAttribute",
        "cuDevicePrimaryCtxGetState", "cudaStreamIsCapturing_v10000", "cudaMalloc_v3020",
        "cudaHostAlloc_v3020", ""}) {
    EXPECT_FALSE(is_needed_call(name)) << name;
  }
}

TEST(CallNames, CallsThatWaitByTheirNature) {
  for (const char* name : {"cudaStreamSynchronize_v3020", "cudaDeviceSynchronize_v3020",
                           "cudaMemcpy_v3020", "cudaFree_v3020", "cuMemcpyDtoH_v2"}) {
    EXPECT_TRUE(always_waits(name)) << name;
  }
  for (const char* name : {"cudaMemcpyAsync_v3020", "cudaMemcpyPeer_v4000", "cudaFreeAsync_v11020",
                           "cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaMemset_v3020"}) {
    EXPECT_FALSE(always_waits(name)) << name;
  }
}

TEST(CallNames, CallsWhoseWorkMustExist) {
  EXPECT_TRUE(launches_kernels("cudaLaunchKernel"));
  EXPECT_TRUE(launches_kernels("cuLaunchKernelEx"));
  EXPECT_FALSE(launches_kernels("cudaMemcpyAsync")) << "nothing runs when there is nothing to copy";
  EXPECT_FALSE(launches_kernels("cudaGraphLaunch")) << "a graph may be empty";
}

TEST(CallNames, KernelsThatCommunicateAreKnownInBothSpellings) {
  EXPECT_TRUE(is_communication_kernel(
      "_Z39ncclDevKernel_AllReduce_Sum_bf16_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
  EXPECT_TRUE(is_communication_kernel("ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgs)"));
  EXPECT_FALSE(is_communication_kernel("_ZN2at6native4ncclEv"))
      << "a function of that name elsewhere";
  EXPECT_FALSE(is_communication_kernel("ampere_sgemm_nccl"));
  EXPECT_FALSE(is_communication_kernel(""));
}

TEST(CallNames, LoseTheirVersionAndNothingElse) {
  EXPECT_EQ(without_version("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(without_version("cuMemcpyHtoD_v2"), "cuMemcpyHtoD");
  EXPECT_EQ(without_version("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(without_version("cuda_v"), "cuda_v");
  EXPECT_EQ(without_version("cuda_value"), "cuda_value");
}

}  // namespace
}  // namespace ddpprof

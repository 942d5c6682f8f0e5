#include "profiler/record/clock_prober.h"

#include "profiler/record/cuda_error.h"
#include "profiler/record/recorder.h"
#include "profiler/record/thread_names.h"

#include <new>

#include <cuda_runtime_api.h>

namespace ddpprof {
namespace {

constexpr int kTries = 5;  // of which the tightest count; some 20 us each
constexpr std::size_t kBytes = 4;

}  // namespace

bool ClockProber::failed(int code, const char* call) noexcept {
  return note_cuda_error(code, call, error_);
}

void ClockProber::open(std::span<const std::int32_t> ordinals) noexcept {
  int before = 0;
  if (failed(cudaGetDevice(&before), "cudaGetDevice")) return;
  for (const std::int32_t ordinal : ordinals) {
    void* bytes = nullptr;
    if (failed(cudaSetDevice(ordinal), "cudaSetDevice") ||
        failed(cudaMalloc(&bytes, kBytes), "cudaMalloc")) {
      break;
    }
    try {
      places_.push_back({.ordinal = ordinal, .bytes = bytes});
    } catch (const std::bad_alloc&) {
      cudaFree(bytes);
      break;
    }
  }
  cudaSetDevice(before);
}

void ClockProber::probe(std::int32_t recording, std::vector<ClockProbe>& probes) noexcept {
  int before = 0;
  if (failed(cudaGetDevice(&before), "cudaGetDevice")) return;
  const auto thread = this_thread_id();
  // False: a call failed.
  const auto watch = [&](std::int32_t ordinal, const auto& act) {
    const std::int64_t begin_ns = now_ns();
    if (!act()) return false;
    try {
      probes.push_back({.recording = recording,
                        .ordinal = ordinal,
                        .thread = thread,
                        .host = {begin_ns, now_ns()}});
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  };
  for (const Place& place : places_) {
    if (failed(cudaSetDevice(place.ordinal), "cudaSetDevice")) break;
    // Not to be part of a trace, either.
    bool goes_on = watch(place.ordinal,
                         [&] { return !failed(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); });
    for (int i = 0; i < kTries && goes_on; ++i) {
      goes_on = watch(place.ordinal, [&] {
        return !failed(cudaMemsetAsync(place.bytes, 0, kBytes, nullptr), "cudaMemsetAsync") &&
               !failed(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
      });
    }
  }
  cudaSetDevice(before);
}

}  // namespace ddpprof

// DeviceSpin on a GPU: a kernel of PyTorch's that spins for a number of clock cycles, between two
// events.
#include "profiler/trace/error.h"
#include "trainers/common/accelerator.h"

#include <cmath>
#include <string>
#include <utility>

#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

namespace ddpprof {
namespace {

constexpr std::size_t kPairsAhead = 64;
constexpr std::int64_t kCalibrationCycles = 20'000'000;  // some 10 ms
constexpr int kCalibrations = 4;  // a device that was idle is slow at first: the last one counts

void check(cudaError_t error) {
  if (error != cudaSuccess) {
    throw Error("--delay",
                std::string("the device's part could not be timed: ") + cudaGetErrorString(error),
                "an error of an earlier operator shows here, too");
  }
}

// Two events around a spin.
class Pair {
 public:
  Pair() {
    check(cudaEventCreate(&begin_));
    check(cudaEventCreate(&end_));
  }
  ~Pair() {
    if (begin_ != nullptr) {
      cudaEventDestroy(begin_);
    }
    if (end_ != nullptr) {
      cudaEventDestroy(end_);
    }
  }
  Pair(Pair&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), end_(std::exchange(other.end_, nullptr)) {}
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  Pair& operator=(Pair&&) = delete;

  void spin(std::int64_t cycles) const {
    const cudaStream_t stream = c10::cuda::getCurrentCUDAStream().stream();
    check(cudaEventRecord(begin_, stream));
    at::cuda::sleep(cycles);
    check(cudaEventRecord(end_, stream));
  }

  // Waits for the end.
  double read_ns() const {
    float milliseconds = 0;
    check(cudaEventSynchronize(end_));
    check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace

struct DeviceSpin::State {
  explicit State(at::Device own_device) : device(own_device) {}
  at::Device device;
  std::int64_t cycles = 0;
  std::vector<Pair> pairs;
  std::size_t used = 0;
};

DeviceSpin::DeviceSpin(at::Device device, std::int64_t length_ns)
    : state_(std::make_unique<State>(device)) {
  const c10::cuda::CUDAGuard guard(device);
  state_->pairs.reserve(kPairsAhead);
  while (state_->pairs.size() < kPairsAhead) {
    state_->pairs.emplace_back();
  }
  double ns = 0;
  for (int i = 0; i < kCalibrations; ++i) {
    state_->pairs.front().spin(kCalibrationCycles);
    ns = state_->pairs.front().read_ns();
  }
  state_->cycles = std::llround(static_cast<double>(length_ns) * kCalibrationCycles / ns);
}

DeviceSpin::~DeviceSpin() = default;

void DeviceSpin::queue(bool is_measured) {
  const c10::cuda::CUDAGuard guard(state_->device);
  if (!is_measured) {
    at::cuda::sleep(state_->cycles);
    return;
  }
  if (state_->used == state_->pairs.size()) {
    state_->pairs.emplace_back();
  }
  state_->pairs[state_->used++].spin(state_->cycles);
}

std::vector<std::int64_t> DeviceSpin::take_ns() {
  std::vector<std::int64_t> lengths_ns;
  for (std::size_t i = 0; i < state_->used; ++i) {
    lengths_ns.push_back(std::llround(state_->pairs[i].read_ns()));
  }
  state_->used = 0;
  return lengths_ns;
}

}  // namespace ddpprof

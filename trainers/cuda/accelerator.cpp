// A device is a GPU.
#include "trainers/common/accelerator.h"

#include "profiler/trace/error.h"
#include "trainers/common/trainer_kind.h"
#include "trainers/cuda/driver.h"
#include "trainers/cuda/nccl_backend.h"

#include <cstdlib>
#include <utility>

#include <ATen/Context.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/version.h>

namespace ddpprof {
namespace {

// 13000 -> "13.0".
std::string cuda_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::uint32_t cupti_version() {
  std::uint32_t version = 0;
  return cuptiGetVersion(&version) == CUPTI_SUCCESS ? version : 0;
}

std::string gpus_text(int count) {
  std::string text =
      "CUDA shows " + (count == 0 ? std::string("no GPU")
                                  : std::to_string(count) + (count == 1 ? " GPU" : " GPUs"));
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    text += " (CUDA_VISIBLE_DEVICES=" + std::string(visible) + ")";
  }
  return text;
}

std::vector<std::int32_t> chosen_ordinals(const TrainOptions& options, const DeviceSlice& slice,
                                          const LauncherEnvironment& place, int visible_count) {
  const bool has_ranks = slice.total > 1 && slice.count == 1;
  // Some launchers (srun --gpus-per-task=1) show each rank its own GPU alone.
  const bool sees_its_own = visible_count == 1 || options.devices.size() == 1;
  const auto first = static_cast<std::size_t>(has_ranks && !sees_its_own ? place.local_rank : 0);
  const auto count = static_cast<std::size_t>(slice.count);
  if (options.devices.empty()) {
    std::vector<std::int32_t> ordinals;
    for (std::size_t i = 0; i < count; ++i) {
      ordinals.push_back(static_cast<std::int32_t>(first + i));
    }
    return ordinals;
  }
  if (options.devices.size() < first + count) {
    throw UsageError("--devices",
                     "names " + std::to_string(options.devices.size()) + " GPUs, and " +
                         std::to_string(first + count) + " are needed",
                     "name one a device of this host");
  }
  const auto begin = options.devices.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

template <typename Change>
Batch change_tensors(Batch batch, const Change& change) {
  for (at::Tensor& input : batch.inputs) {
    input = change(input);
  }
  if (batch.target.defined()) {
    batch.target = change(batch.target);
  }
  return batch;
}

}  // namespace

// NCCL's collectives of one communicator run one after the other on its stream.
const TrainerKind kTrainerKind = {
    .program = "ddpprof-train-cuda", .devices_are_threads = false, .collectives_at_once = 1};

void check_libraries() { check_nccl(); }

std::vector<at::Device> open_devices(const TrainOptions& options, const DeviceSlice& slice,
                                     const LauncherEnvironment& place) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  check_driver(error);
  std::vector<at::Device> devices;
  for (const std::int32_t ordinal : chosen_ordinals(options, slice, place, count)) {
    if (ordinal < 0 || ordinal >= count) {
      throw Error("GPU " + std::to_string(ordinal), "is not there: " + gpus_text(count),
                  count == 0 ? "ddpprof-train is the trainer that needs no GPU"
                             : "use fewer devices, or show more of them");
    }
    devices.emplace_back(at::kCUDA, static_cast<at::DeviceIndex>(ordinal));
  }
  c10::cuda::set_device(devices.front().index());
  return devices;
}

std::vector<std::int32_t> ordinals_of(const std::vector<at::Device>& devices) {
  std::vector<std::int32_t> ordinals;
  for (const at::Device device : devices) {
    ordinals.push_back(device.index());
  }
  return ordinals;
}

Device describe_device(at::Device device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device.index()) != cudaSuccess) {
    return {.name = "GPU", .memory_bytes = 0, .number = device.index()};
  }
  return {.name = properties.name,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .number = device.index()};
}

std::map<std::string, std::string> library_versions() {
  int runtime = 0;
  cudaRuntimeGetVersion(&runtime);
  return {{"torch", TORCH_VERSION},
          {"cuda", cuda_text(runtime)},
          {"nccl", nccl_version()},
          {"cupti", std::to_string(cupti_version())}};
}

std::vector<std::optional<std::int64_t>> peak_memory_bytes(const std::vector<at::Device>& devices) {
  std::vector<std::optional<std::int64_t>> peaks;
  for (const at::Device device : devices) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
    peaks.emplace_back(stats.reserved_bytes[0].peak);  // 0: all pools together
  }
  return peaks;
}

// From pinned memory the copy does not wait for the device.
Batch move_batch(Batch batch, at::Device device) {
  return change_tensors(std::move(batch), [&](const at::Tensor& tensor) {
    return tensor.pin_memory().to(device, /*non_blocking=*/true);
  });
}

Batch pin_batch(Batch batch) {
  return change_tensors(std::move(batch),
                        [](const at::Tensor& tensor) { return tensor.pin_memory(); });
}

Batch move_batch_aside(Batch batch, at::Device device) {
  static const c10::cuda::CUDAStream kStream =
      c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index());
  const c10::cuda::CUDAStream computing = c10::cuda::getCurrentCUDAStream(device.index());
  {
    const c10::cuda::CUDAStreamGuard guard(kStream);
    batch = change_tensors(std::move(batch), [&](const at::Tensor& tensor) {
      return tensor.to(device, /*non_blocking=*/true);
    });
  }
  at::cuda::CUDAEvent copied;
  copied.record(kStream);
  copied.block(computing);
  // The memory belongs to the copies' stream: not to be given out again before what computes with
  // it is done.
  return change_tensors(std::move(batch), [&](const at::Tensor& tensor) {
    tensor.record_stream(computing);
    return tensor;
  });
}

void synchronize(at::Device /*device*/) { c10::cuda::device_synchronize(); }

void* stream_behind(c10d::Work& work, at::Device device) {
  static const c10::cuda::CUDAStream kStream =
      c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index());
  const c10::cuda::CUDAStreamGuard guard(kStream);
  work.getFuture()->wait();  // NCCL's is complete at once: it makes streams wait, not threads
  return kStream.stream();
}

void apply_switches(const TrainOptions& options) {
  at::globalContext().setSDPUseCuDNN(options.cudnn_attention);
}

}  // namespace ddpprof

// A device is a set of CPU threads: nothing runs ahead of the host, and gloo moves gradients.
#include "trainers/common/accelerator.h"

#include "profiler/record/recorder.h"
#include "profiler/trace/error.h"
#include "trainers/common/trainer_kind.h"
#include "trainers/host/gloo_backend.h"

#include <fstream>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/version.h>
#include <unistd.h>

namespace ddpprof {
namespace {

// The rest of the line of a file of /proc that begins so; empty without one.
std::string line_of(const char* path, const std::string& begin) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(begin)) {
      return line.substr(line.find(':') + 1);
    }
  }
  return {};
}

std::string processor_name() {
  const std::string name = line_of("/proc/cpuinfo", "model name");
  return name.empty() ? "CPU" : name.substr(1);
}

}  // namespace

const TrainerKind kTrainerKind = {
    .program = "ddpprof-train", .devices_are_threads = true, .collectives_at_once = kGlooThreads};

void check_libraries() {}

std::vector<at::Device> open_devices(const TrainOptions& /*options*/, const DeviceSlice& slice,
                                     const LauncherEnvironment& /*place*/) {
  return std::vector<at::Device>(static_cast<std::size_t>(slice.count), at::Device(at::kCPU));
}

std::vector<std::int32_t> ordinals_of(const std::vector<at::Device>& /*devices*/) { return {}; }

Device describe_device(at::Device /*device*/) {
  return {.name = processor_name(),
          .memory_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE),
          .number = {}};
}

std::map<std::string, std::string> library_versions() { return {{"torch", TORCH_VERSION}}; }

Probe probe_machine() {
  throw UsageError("--probe", "looks at GPUs, and this trainer has none",
                   "ddpprof-train-cuda is the one for GPUs");
}

// The process's, where it is the device.
std::vector<std::optional<std::int64_t>> peak_memory_bytes(const std::vector<at::Device>& devices) {
  std::vector<std::optional<std::int64_t>> peaks(devices.size());
  const std::string kilobytes = line_of("/proc/self/status", "VmHWM:");
  if (devices.size() == 1 && !kilobytes.empty()) {
    peaks[0] = std::stoll(kilobytes) * 1024;
  }
  return peaks;
}

Batch move_batch(Batch batch, at::Device /*device*/) { return batch; }

// --pin-memory is refused.
Batch pin_batch(Batch batch) { return batch; }

Batch move_batch_aside(Batch batch, at::Device /*device*/) { return batch; }

void synchronize(at::Device /*device*/) {}

void* stream_behind(c10d::Work& /*work*/, at::Device /*device*/) { return nullptr; }

void apply_switches(const TrainOptions& /*options*/) {}

c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                               const LauncherEnvironment& place,
                                               at::Device /*device*/,
                                               std::chrono::milliseconds timeout) {
  return make_gloo_backend(store, place.rank, place.world_size, place.master_address, timeout);
}

struct StepClock::State {
  std::vector<std::int64_t> times_ns;
};

StepClock::StepClock(at::Device /*device*/, std::int64_t marks_count)
    : state_(std::make_unique<State>()) {
  state_->times_ns.reserve(static_cast<std::size_t>(marks_count));
}

StepClock::~StepClock() = default;

void StepClock::mark() { state_->times_ns.push_back(now_ns()); }

struct StepGraph::State {};

StepGraph::StepGraph(at::Device /*device*/) {
  throw UsageError("--cuda-graph", "there is no GPU", "ddpprof-train-cuda is the trainer for GPUs");
}

StepGraph::~StepGraph() = default;

void StepGraph::capture(const std::function<void()>& /*work*/) {}

void StepGraph::launch() {}

struct DeviceSpin::State {};

DeviceSpin::DeviceSpin(at::Device /*device*/, std::int64_t /*length_ns*/) {
  throw UsageError("--delay", "there is no device that could spin",
                   "ddpprof-train-cuda is the trainer for GPUs");
}

DeviceSpin::~DeviceSpin() = default;

void DeviceSpin::queue(bool /*is_measured*/) {}

std::vector<std::int64_t> DeviceSpin::take_ns() { return {}; }

std::vector<std::int64_t> StepClock::take_ns() { return std::move(state_->times_ns); }

}  // namespace ddpprof

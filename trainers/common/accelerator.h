// What differs between a trainer on CPU threads and one on GPUs. Two implementations, one of which
// is linked in: host/accelerator.cpp and cuda/accelerator.cpp.
#pragma once

#include "profiler/formats/probe.h"
#include "trainers/common/launcher_environment.h"
#include "trainers/common/options.h"
#include "trainers/common/sampler.h"
#include "trainers/workloads/workload.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

namespace c10d {
class Backend;
class Store;
class Work;
}  // namespace c10d

namespace ddpprof {

// Whether the libraries in this process are those it was compiled for. Throws: Error where nothing
// would work.
void check_libraries();

// The devices this process drives, in replica order; the first becomes the calling thread's own.
// Throws: UsageError, Error when there are not as many.
std::vector<at::Device> open_devices(const TrainOptions& options, const DeviceSlice& slice,
                                     const LauncherEnvironment& place);

// CUDA ordinals, for DeviceSource::open(); empty where devices are threads.
std::vector<std::int32_t> ordinals_of(const std::vector<at::Device>& devices);

Device describe_device(at::Device device);

// "torch", and with GPUs "cuda", "nccl", "cupti".
std::map<std::string, std::string> library_versions();

// What other processes would find here. Throws: UsageError where there are no GPUs to look at.
Probe probe_machine();

// The most memory each held so far. Absent: nobody counted it for that device.
std::vector<std::optional<std::int64_t>> peak_memory_bytes(const std::vector<at::Device>& devices);

// Queues the copy; the calling thread does not wait. Threads: the training loop's.
Batch move_batch(Batch batch, at::Device device);

// A copy in memory that a device reads while the host goes on. Threads: any.
Batch pin_batch(Batch batch);

// As move_batch(), for a batch from pin_batch(): the copy is queued on a stream of its own, where
// it waits for nothing, and what the calling thread queues from now on waits for it. For one device
// a process.
Batch move_batch_aside(Batch batch, at::Device device);

// Returns when all work queued on the device is done.
void synchronize(at::Device device);

// A cudaStream_t that waits for what `work` queued and on which nothing else is; the calling thread
// does not wait. Null where devices are threads. For one device a process.
void* stream_behind(c10d::Work& work, at::Device device);

// Switches of PyTorch that are the process's own.
void apply_switches(const TrainOptions& options);

// The library that moves gradients between the ranks: gloo or NCCL. Collective.
// Throws: whatever the library throws when the other ranks do not come in time.
c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                               const LauncherEnvironment& place, at::Device device,
                                               std::chrono::milliseconds timeout);

// When a device was done with what had been queued on it at each mark().
// Units: CLOCK_MONOTONIC nanoseconds. On GPUs the marks are events, so that steps are timed from
// the end of one step's work to the end of the next one's, however far the host runs ahead.
class StepClock {
 public:
  StepClock(at::Device device, std::int64_t marks_count);
  ~StepClock();
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;

  void mark();
  // Waits for the device. Shape: one time a mark.
  std::vector<std::int64_t> take_ns();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Work of a device, recorded once and launched as a whole: a CUDA graph.
class StepGraph {
 public:
  // Throws: UsageError where devices are threads.
  explicit StepGraph(at::Device device);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;
  StepGraph& operator=(const StepGraph&) = delete;

  // What `work` launches is recorded and does not run. It must not wait for the device. Memory that
  // it allocates belongs to the graph. Once.
  void capture(const std::function<void()>& work);
  // Queues all of it on the current stream.
  void launch();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Keeps a device busy, and tells afterwards for how long.
class DeviceSpin {
 public:
  // Finds out how many cycles that takes, within a few per cent.
  // Throws: UsageError where devices are threads.
  DeviceSpin(at::Device device, std::int64_t length_ns);
  ~DeviceSpin();
  DeviceSpin(const DeviceSpin&) = delete;
  DeviceSpin& operator=(const DeviceSpin&) = delete;

  // Puts it on the stream the calling thread launches on, and does not wait. Threads: one at a
  // time.
  void queue(bool is_measured);
  // Waits for the device. Shape: a length for each measured one since the last call.
  std::vector<std::int64_t> take_ns();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddpprof

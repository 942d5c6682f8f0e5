// Everything a trainer is told, checked as far as it can be without opening anything.
#pragma once

#include "profiler/record/device_source.h"
#include "trainers/common/delay.h"
#include "trainers/common/schedule.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

enum class Precision : std::uint8_t { fp32, fp64, bf16, fp16 };

inline constexpr std::string_view kPrecisionNames[] = {"fp32", "fp64", "bf16", "fp16"};

constexpr std::string_view to_string(Precision precision) {
  return kPrecisionNames[static_cast<std::size_t>(precision)];
}

// Where a workload's samples come from, beside files.
inline constexpr std::string_view kSyntheticData = "synthetic";

// Absent: the workload's own value. Given, but unknown to the workload: a UsageError.
struct WorkloadOptions {
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> width;
  std::optional<std::int64_t> sequence_length;
  std::optional<std::int64_t> vocabulary;
  std::optional<double> dropout;
  std::uint64_t seed = 0;
  std::string data;  // empty: the workload's own; kSyntheticData; else a safetensors file
};

// Who fetches batches, and how they get to the device.
struct LoaderOptions {
  std::int64_t threads = 0;   // 0: the training loop's own
  std::int64_t prefetch = 2;  // micro-batches a thread that are ready or being made
  bool pin_memory = false;    // and a stream of their own for the copies; GPUs only
  std::int64_t cost_ns = 0;   // CPU time that fetching a sample takes more, on purpose
};

// In which type gradients travel; none: in their own.
enum class CommHook : std::uint8_t { none, fp16, bf16 };

inline constexpr std::string_view kCommHookNames[] = {"none", "fp16", "bf16"};

// What torch.nn.parallel.DistributedDataParallel takes under the same names.
struct ReducerOptions {
  std::optional<double> bucket_cap_mb;    // absent: 25, and a first bucket of 1
  std::optional<double> first_bucket_mb;  // absent: 1, or bucket_cap_mb where that is given
  bool gradient_as_bucket_view = false;
  bool static_graph = false;
  bool find_unused_parameters = false;
  bool broadcast_buffers = true;
  bool no_sync = true;  // all micro-steps but the last leave gradients where they are
  CommHook comm_hook = CommHook::none;
};

// See ReplicaThreads.
enum class DpThreads : std::uint8_t { fresh, pool };

// Which autocast state dp's replicas compute under: the caller's, or what torch.nn.DataParallel
// gives its threads: autocast is on where the caller's is, but in the type a fresh thread starts
// with, fp16, whatever the caller's.
// Source: torch/nn/parallel/parallel_apply.py, 2.11.
enum class DpAutocast : std::uint8_t { caller, pytorch };

// Who looks at the test samples: every rank at a part of them, or rank 0 at all, while the others
// go on to wait for it.
enum class EvalMode : std::uint8_t { all, rank0 };

inline constexpr std::string_view kEvalNames[] = {"all", "rank0"};

enum class OptimizerKind : std::uint8_t { fused_adamw, foreach_adamw, fused_sgd, foreach_sgd };

inline constexpr std::string_view kOptimizerNames[] = {"fused-adamw", "foreach-adamw", "fused-sgd",
                                                       "foreach-sgd"};

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::fused_adamw;
  double learning_rate = 0;
  double weight_decay = 0;
  double momentum = 0.9;  // SGD
};

// See Update.
struct LossScaling {
  enum class Kind : std::uint8_t { none, fixed, dynamic };
  Kind kind = Kind::none;
  double scale = 65536;  // at first
  std::int64_t growth_interval = 2000;
};

struct TrainOptions {
  std::string strategy = "single";
  std::string workload = "digits-mlp";
  WorkloadOptions workload_options;
  std::int64_t batch = 0;  // samples an optimizer step, over all devices
  Precision precision = Precision::fp32;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  LossScaling loss_scaling;
  std::optional<double> clip_norm;
  bool cuda_graph = false;
  LoaderOptions loader;
  std::int64_t micro_steps = 1;
  std::int64_t workers = 1;           // dp: devices
  std::vector<std::int32_t> devices;  // GPUs by number, in replica order; empty: from 0 on
  DpThreads dp_threads = DpThreads::fresh;
  DpAutocast dp_autocast = DpAutocast::caller;
  bool cudnn_attention = true;
  std::optional<std::int64_t> threads;  // intra-op threads a device; absent: cores / devices
  ReducerOptions reducer;
  double timeout_s = 60;  // of a collective and of meeting the other ranks

  // A stand-alone run is that long; of both, epochs wins.
  std::int64_t steps = 0;
  std::optional<std::int64_t> epochs;
  std::int64_t warmup = 5;  // steps before the first order

  std::string fault;  // empty: none
  std::optional<Delay> delay;
  std::filesystem::path trace;
  RecorderChoice recorder = RecorderChoice::automatic;
  std::filesystem::path metrics;
  std::filesystem::path gradients;
  std::filesystem::path checkpoint, resume;
  std::optional<std::int64_t> checkpoint_every;  // absent: at the end alone
  EvalMode eval = EvalMode::all;
  std::optional<std::int64_t> eval_every;  // absent: at the end alone
  std::optional<int> control_fd;
  bool probe = false;  // say what the machine has, and leave

  // Choices made for the user; rank 0 says them once training begins.
  std::vector<std::string> notes;
};

}  // namespace ddpprof

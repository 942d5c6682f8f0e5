// What the user of `ddpprof compare` asked for, and what that comes to on this machine.
#pragma once

#include "profiler/formats/probe.h"
#include "profiler/trace/error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof {

// Which devices to train on, and how NCCL may link them; as typed.
struct DeviceFlags {
  std::optional<std::int64_t> gpus;
  std::optional<std::string> device;
  std::optional<std::int64_t> workers;
  std::optional<std::string> link;
};

// As typed; nothing is opened or looked up here. An absent value takes the workload's default.
struct CompareOptions : DeviceFlags {
  std::optional<std::string> workload;
  std::vector<std::string> strategies = {"single", "dp", "ddp"};

  std::optional<std::int64_t> layers, width, seq, vocab, batch, micro_steps, threads;
  std::optional<double> dropout;
  std::optional<std::string> precision;
  std::int64_t seed = 1;

  std::optional<double> bucket_cap_mb, first_bucket_mb;
  bool gradient_as_bucket_view = false;
  bool static_graph = false;
  bool find_unused_parameters = false;
  bool no_broadcast_buffers = false;
  std::optional<std::string> dp_threads, dp_autocast, recorder;
  bool no_cudnn_attention = false;

  std::optional<std::int64_t> steps, rounds, warmup;
  std::string out;
  bool force = false;
  bool isolate = false;
  bool quiet = false;
  std::optional<std::string> json;
  double timeout_s = 300;
  std::optional<std::string> fault;
};

// What this machine offers.
struct Offer {
  std::int64_t gpus = 0;  // NVIDIA's driver shows
  std::int64_t cpus = 1;
  bool has_cuda_trainer = false;  // ddpprof-train-cuda lies beside ddpprof
  // What that trainer says of the GPUs it may use, or why it cannot say. Both absent: it was not
  // asked.
  std::optional<Probe> probe = {};
  std::optional<Error> probe_error = {};
  std::optional<std::string> visible_devices = {};         // CUDA_VISIBLE_DEVICES
  std::map<std::string, std::string> nccl_variables = {};  // NCCL_… of the user's environment
};

struct StrategyPlan {
  std::string key;
  std::int32_t processes = 1;
  std::int32_t devices = 1;
};

// Everything decided. Arguments are those all trainers share.
struct ComparePlan {
  std::string workload;
  bool on_gpus = false;
  std::int64_t devices = 2;
  std::int64_t threads = 1;  // intra-op threads a device
  std::int64_t global_batch = 0;
  std::int64_t steps = 0, rounds = 0, warmup = 0, recorded_steps = 0;
  std::vector<StrategyPlan> strategies;  // in the order they take turns
  std::vector<std::string> arguments;
  std::optional<std::string> link;                      // --link
  std::map<std::string, std::string> link_environment;  // of it, for DP's and DDP's processes
  std::optional<std::string> fault;                     // for the processes that have its rank
  std::optional<std::int32_t> fault_rank;
  std::vector<std::string> notes;  // lines the user should read before the run
};

// Throws UsageError for what is wrong whatever the machine.
void check_usage(const CompareOptions& options);

// Throws UsageError as check_usage and for what is wrong on the devices chosen, Error for what this
// machine lacks.
ComparePlan plan_compare(const CompareOptions& options, const Offer& offer);

}  // namespace ddpprof

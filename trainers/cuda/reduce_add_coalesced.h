// The backward of DataParallel's replication: the replicas' gradients become the original's.
#pragma once

#include "profiler/record/recorder.h"
#include "trainers/cuda/replica_collectives.h"

#include <cstdint>

#include <torch/csrc/autograd/function.h>

namespace ddpprof {

// A node of the autograd graph above all replicas. Inputs: the gradients of R x P parameters,
// replica by replica; outputs: P sums on the first replica's device.
// Source: torch/nn/parallel/_functions.py and torch/cuda/comm.py, 2.11: packed into buffers of 10
// MiB, reduced by NCCL, or added one after the other where NCCL cannot (a GPU that is there twice).
// Threads: the engine runs it on the first device's thread. One instance serves one backward.
class ReduceAddCoalesced : public torch::autograd::Node {
 public:
  // `collectives`: NCCL's between the replicas, which outlive this; null: NCCL cannot.
  ReduceAddCoalesced(Recorder& recorder, std::int64_t replicas_count, std::int64_t parameters_count,
                     ReplicaCollectives* collectives);

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;

 private:
  at::Tensor reduce(std::vector<at::Tensor> parts) const;

  Recorder& recorder_;
  std::size_t replicas_count_, parameters_count_;
  ReplicaCollectives* collectives_;
};

// Source: torch.cuda.comm, buffer_size of broadcast_coalesced and reduce_add_coalesced.
inline constexpr std::size_t kCoalescedBytes = std::size_t{10} * 1024 * 1024;

}  // namespace ddpprof

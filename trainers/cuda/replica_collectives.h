// DataParallel's broadcasts and reduces as collectives of the trace.
#pragma once

#include "profiler/record/recorder.h"

#include <cstdint>
#include <vector>

#include <c10/core/Device.h>

namespace ddpprof {

// NCCL's broadcasts and reduces between the replicas, one collective a chunk and device. They are
// recorded only where their kernels are seen.
// Threads: one at a time; the training loop's broadcasts before backward, and a thread of autograd
// reduces inside it.
class ReplicaCollectives {
 public:
  // `devices` in replica order: collectives name them by their position.
  ReplicaCollectives(Recorder& recorder, std::vector<at::Device> devices);

  // `launch` makes one call that puts the chunks, in this order, on every device: of each chunk one
  // kernel a device, and no other kernel of NCCL.
  // Shape: `chunk_bytes` is one number a chunk.
  template <typename Launch>
  auto broadcast(const std::vector<std::int64_t>& chunk_bytes, const Launch& launch) {
    const Under under(*this, CollectiveKind::broadcast, chunk_bytes);
    return launch();
  }
  template <typename Launch>
  auto reduce(std::int64_t bytes, const Launch& launch) {
    const Under under(*this, CollectiveKind::reduce, {bytes});
    return launch();
  }

 private:
  // In scope = these are being launched.
  class Under {
   public:
    Under(ReplicaCollectives& all, CollectiveKind kind,
          const std::vector<std::int64_t>& chunk_bytes);
    ~Under();
    Under(const Under&) = delete;
    Under& operator=(const Under&) = delete;

   private:
    ReplicaCollectives& all_;
    std::vector<CollectiveHandle> handles_;  // [chunk][device]
  };

  Recorder& recorder_;
  std::vector<at::Device> devices_;
  std::int64_t sequence_ = 0;  // collectives so far, recorded or not
};

}  // namespace ddpprof

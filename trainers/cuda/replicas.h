// DataParallel's replicas on GPUs: models whose parameters are, in every forward, the original's
// broadcast to their device, and hang in the autograd graph below them.
#pragma once

#include "profiler/record/recorder.h"
#include "trainers/cuda/replica_collectives.h"
#include "trainers/workloads/workload.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ddpprof {

// What torch.nn.parallel.replicate does, on skeletons that are made once: no module is copied in a
// step, only the tensors inside are exchanged. The member of a module and the entry in its
// dictionary are handles of one tensor, which is changed in place.
class Replicas {
 public:
  // Shape: one replica a device; the first device is the original's. A device may be there twice:
  // NCCL refuses that, so copies and additions take its place then.
  Replicas(Recorder& recorder, const Workload& workload, const Model& original,
           const std::vector<at::Device>& devices);

  std::int64_t count() const { return static_cast<std::int64_t>(models_.size()); }
  Model& model(std::int64_t replica) { return *models_[static_cast<std::size_t>(replica)]; }

  // Not before the backward of the last one is done. Replica 0 shares the original's storage, so
  // that what a forward writes into its buffers survives; what the others write is lost.
  void replicate();

 private:
  struct Tensors {
    std::vector<at::Tensor> parameters, buffers;
  };
  static Tensors tensors_of(const Model& model);

  // Shape: result[replica][tensor]; the first replica's are `tensors` themselves.
  std::vector<std::vector<at::Tensor>> broadcast(const std::vector<at::Tensor>& tensors,
                                                 const std::vector<std::int64_t>& chunk_bytes);

  Recorder& recorder_;
  ReplicaCollectives collectives_;
  std::vector<std::int64_t> ordinals_;
  bool use_nccl_;
  Tensors original_;
  std::vector<std::int64_t> parameter_chunks_, buffer_chunks_;  // bytes
  std::vector<std::shared_ptr<Model>> models_;
  std::vector<Tensors> tensors_;  // one a replica, in the original's order
};

}  // namespace ddpprof

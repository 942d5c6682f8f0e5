// DataParallel's replicas on a CPU: models of their own that take over the original's values before
// every forward.
#pragma once

#include "trainers/workloads/workload.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ddpprof {

class Replicas {
 public:
  // Replica 0 shares the storage of the original's parameters and buffers, so that what a forward
  // writes into a buffer of replica 0 survives, as in torch.nn.DataParallel.
  Replicas(const Workload& workload, const Model& original, std::int64_t count);

  std::int64_t count() const { return static_cast<std::int64_t>(models_.size()); }
  Model& model(std::int64_t replica) { return *models_[static_cast<std::size_t>(replica)]; }

  // Copies the original's values into all replicas.
  void replicate();

  // Adds the replicas' gradients to the original's, replica after replica: the same order gives
  // the same rounding. Afterwards the replicas have none.
  void reduce_gradients();

 private:
  struct Tensors {
    std::vector<at::Tensor> parameters, buffers;
  };
  static Tensors tensors_of(const Model& model);

  Tensors original_;
  std::vector<std::shared_ptr<Model>> models_;
  std::vector<Tensors> tensors_;  // one a replica, in the original's order
};

}  // namespace ddpprof

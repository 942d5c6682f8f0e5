// The threads on which DataParallel's replicas run.
#pragma once

#include "profiler/record/recorder.h"
#include "trainers/common/options.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace ddpprof {

// `fresh`: one new thread a replica and call, as torch.nn.DataParallel does; `pool`: the same
// threads every time, so that what PyTorch keeps by thread (plans of cuDNN, handles) survives.
class ReplicaThreads {
 public:
  using Work = std::function<void(std::int64_t replica)>;

  ReplicaThreads(Recorder& recorder, std::int64_t count, DpThreads kind);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // Runs `work(replica)` for each replica, each with the caller's thread-local state (grad mode and
  // the like) and known to the recorder, and waits for all.
  // Throws: Error, for the first replica that threw.
  void run(const Work& work);

 private:
  class Pool;

  Recorder& recorder_;
  std::int64_t count_;
  std::unique_ptr<Pool> pool_;  // null: fresh threads
};

}  // namespace ddpprof

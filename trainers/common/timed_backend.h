// A communication backend that tells the recorder of every collective and lets another backend do
// it. The Reducer keeps its default path, in which the division by the number of ranks is fused
// into the copy into the bucket: a communication hook, the other way to see the all-reduces, would
// change what is measured.
#pragma once

#include "profiler/record/recorder.h"
#include "trainers/common/planted_delay.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace ddpprof {

// Threads: one collective is started at a time, in the same order on all ranks, by the training
// loop's thread or the one that runs backward for it; their ends come from the inner backend's
// threads (gloo) or at once, with a stream that waits for the end (NCCL).
class TimedBackend : public c10d::Backend {
 public:
  TimedBackend(c10::intrusive_ptr<c10d::Backend> inner, at::Device device, Recorder& recorder);

  // Between the two, all-reduces of floating-point tensors are gradients, and their order is the
  // order of the buckets.
  void begin_backward();
  void end_backward();

  // A delay of phase all_reduce acts before a bucket is handed to the inner backend.
  void plant(PlantedDelay& delay) { delay_ = &delay; }

  // Returns when the end of every collective that was started has been reported. A rank that waits
  // for a collective may be woken before that.
  void wait_for_reports() const;

  // Not "gloo": c10d::Logger would take this object for a ProcessGroupGloo.
  const std::string getBackendName() const override { return "timed-" + inner_->getBackendName(); }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override;

  c10::intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  void setGroupUid(const std::string& uid) override;
  void shutdown() override { inner_->shutdown(); }
  void abort() override { inner_->abort(); }

 private:
  // An all-reduce of gradients, in a scope of its own on the thread that launches it.
  c10::intrusive_ptr<c10d::Work> allreduce_bucket(std::vector<at::Tensor>& tensors,
                                                  const c10d::AllreduceOptions& options);

  // What `call` launches on the inner backend, as one collective.
  template <typename Call>
  c10::intrusive_ptr<c10d::Work> timed(const CollectiveStart& start, const Call& call);

  // Reports the end when `work` is done, in whichever thread finishes it.
  void report_end(const c10::intrusive_ptr<c10d::Work>& work, CollectiveHandle handle);

  c10::intrusive_ptr<c10d::Backend> inner_;
  at::Device device_;
  Recorder& recorder_;
  PlantedDelay* delay_ = nullptr;
  std::atomic<std::int64_t> unreported_ = 0;
  std::int64_t sequence_ = 0;  // collectives so far; equal on all ranks
  bool in_backward_ = false;
  std::int32_t bucket_ = 0;  // gradient all-reduces of this backward so far
};

}  // namespace ddpprof

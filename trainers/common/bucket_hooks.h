// Makes DDP's own copies visible: where gradients go into buckets and come out of them.
#pragma once

#include "profiler/record/recorder.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/function.h>

namespace ddpprof {

// While copies are expected,
// - what the Reducer does when a gradient has come (the copy into the bucket and, with a bucket's
//   last gradient, the launch of its all-reduce) is a scope of phase bucket_copy. A pair of hooks
//   on each parameter's accumulator opens and closes it, since hooks of one accumulator run in the
//   order in which they were registered: the first of each pair is registered before the Reducer's
//   own, the second after it;
// - what the Reducer does at the end of backward is a scope that does not compute: it waits for
//   each bucket and copies it out. On a CPU, where waiting and copying are one thread's, each copy
//   is a scope of its own inside, which computes.
//
//     backward     [ ..(copy in)..(copy in  [all_reduce] ).. |  finalize: wait, copy out, wait … ]
//                                                             ^ enclose_finalize()
//
// Threads: hooks run on the threads of backward; all else is the training loop's, between
// backwards.
class BucketHooks {
 public:
  // Before the Reducer of these parameters is made.
  BucketHooks(Recorder& recorder, const std::vector<at::Tensor>& parameters);
  ~BucketHooks();
  BucketHooks(const BucketHooks&) = delete;
  BucketHooks& operator=(const BucketHooks&) = delete;

  // Once, after it was made.
  void close_pairs();

  // Whether the next backward copies: those of no_sync do not.
  void expect_copies(bool are_due) { are_due_ = are_due; }

  // Inside a final callback of backward that was queued before the Reducer's own, which is thereby
  // enclosed: callbacks run in the order of their queue, one after the other on one thread, and
  // those queued meanwhile come last. On a CPU each copy then costs a look at the operators inside.
  // Source: GraphTask::exec_post_processing of torch/csrc/autograd/engine.cpp.
  void enclose_finalize();

 private:
  using Accumulator = std::shared_ptr<torch::autograd::Node>;

  void add_hook(const Accumulator& accumulator, bool opens);

  Recorder& recorder_;
  bool are_due_ = false;
  // A parameter holds its accumulator weakly: without an owner the hooks would be gone.
  std::vector<Accumulator> accumulators_;
  std::vector<std::pair<Accumulator, std::uintptr_t>> hooks_;
};

}  // namespace ddpprof

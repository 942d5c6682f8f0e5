// Makes DDP's own copies visible: the Reducer announces them through RecordFunction.
#pragma once

#include "profiler/record/recorder.h"

#include <cstdint>

namespace ddpprof {

// Alive = every copy into or out of a bucket, and every search for unused parameters, that the
// calling thread does is a scope of phase bucket_copy. Costs some 0.1 us an operator, so it lives
// only while steps are recorded.
// Threads: made and destroyed by the training loop's thread; one at a time.
class BucketScopes {
 public:
  explicit BucketScopes(Recorder& recorder);
  ~BucketScopes();
  BucketScopes(const BucketScopes&) = delete;
  BucketScopes& operator=(const BucketScopes&) = delete;

 private:
  std::uint64_t callback_;
};

}  // namespace ddpprof

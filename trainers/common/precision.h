// Mixed precision, one forward at a time.
#pragma once

#include "trainers/common/options.h"

namespace ddpprof {

// In scope = operators of the calling thread compute in bf16 where that is sound. Nothing for fp32
// and fp64. Backward belongs outside: it takes the types of the forward.
// Threads: the state is the thread's own, so every replica's thread opens one.
class AutocastScope {
 public:
  explicit AutocastScope(Precision precision);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool is_on_;
};

}  // namespace ddpprof

// Mixed precision, one forward at a time.
#pragma once

#include "trainers/common/options.h"

#include <optional>

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace ddpprof {

// The type autocast computes in; absent for fp32 and fp64.
std::optional<at::ScalarType> autocast_type(Precision precision);

// In scope = operators of the calling thread compute in `dtype` on `device` where that is sound.
// Backward belongs outside: it takes the types of the forward.
// Threads: the state is the thread's own, so every replica's thread opens one.
class AutocastScope {
 public:
  AutocastScope(at::DeviceType device, std::optional<at::ScalarType> dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  at::DeviceType device_;
  bool is_on_;
};

}  // namespace ddpprof

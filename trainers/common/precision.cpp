#include "trainers/common/precision.h"

#include <ATen/autocast_mode.h>

namespace ddpprof {

AutocastScope::AutocastScope(Precision precision) : is_on_(precision == Precision::bf16) {
  if (is_on_) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
  }
}

AutocastScope::~AutocastScope() {
  if (is_on_) {
    if (at::autocast::decrement_nesting() == 0) {
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
}

}  // namespace ddpprof

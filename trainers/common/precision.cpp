#include "trainers/common/precision.h"

#include <ATen/autocast_mode.h>

namespace ddpprof {

std::optional<at::ScalarType> autocast_type(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return at::kBFloat16;
    case Precision::fp16:
      return at::kHalf;
    default:
      return std::nullopt;
  }
}

AutocastScope::AutocastScope(at::DeviceType device, std::optional<at::ScalarType> dtype)
    : device_(device), is_on_(dtype.has_value()) {
  if (is_on_) {
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::set_autocast_dtype(device_, *dtype);
    at::autocast::increment_nesting();
  }
}

AutocastScope::~AutocastScope() {
  if (is_on_) {
    if (at::autocast::decrement_nesting() == 0) {
      at::autocast::clear_cache();
    }
    at::autocast::set_autocast_enabled(device_, false);
  }
}

}  // namespace ddpprof

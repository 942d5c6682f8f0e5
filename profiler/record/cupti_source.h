// The device source that sees every kernel, copy and set with the call that launched it, by CUPTI's
// activity records; and NVTX ranges, which go out beside CUPTI, never through it.
#pragma once

#include "profiler/record/device_source.h"

#include <memory>
#include <string>

namespace ddpprof {

// Null where CUPTI cannot or must not be used; then `reason` says why.
std::unique_ptr<DeviceSource> make_cupti_source(std::string& reason);

}  // namespace ddpprof

// The device source that needs no CUPTI: phases of each device by CUDA events, and NVTX ranges for
// whoever collects them.
#pragma once

#include "profiler/record/device_source.h"

#include <memory>
#include <string>

namespace ddpprof {

// `reason`: why it is not CUPTI; empty when the user wanted it so.
std::unique_ptr<DeviceSource> make_event_source(std::string reason);

}  // namespace ddpprof

// The device source of builds without a GPU: there is none, host threads are the devices.
#include "profiler/record/device_source.h"

namespace ddpprof {

std::unique_ptr<DeviceSource> make_device_source(RecorderChoice /*choice*/,
                                                 const std::string& /*objection*/) {
  return nullptr;
}

}  // namespace ddpprof

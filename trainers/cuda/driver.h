// Whether there is a driver, and one that will do.
#pragma once

namespace ddpprof {

// `error`: what cudaGetDeviceCount() returned. That it found no device is no error of the driver's.
// Throws: Error, which tells a driver that is missing from one that is too old.
void check_driver(int error);

}  // namespace ddpprof

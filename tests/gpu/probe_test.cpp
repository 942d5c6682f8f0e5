// What ddpprof-train-cuda says of a machine that has GPUs.
#include "profiler/formats/probe.h"

#include "tests/trainers/trainer_process.h"

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

TEST(Probe, FindsADeviceWithMemory) {
  TrainerProcess process({"--probe"});
  ASSERT_EQ(process.wait(), 0) << process.error();
  const Probe probe = parse_probe(process.output());
  ASSERT_FALSE(probe.devices.empty()) << process.output();
  for (const DeviceProbe& found : probe.devices) {
    EXPECT_FALSE(found.device.name.empty()) << process.output();
    EXPECT_GT(found.device.memory_bytes, 0) << process.output();
  }
}

}  // namespace
}  // namespace ddpprof::test

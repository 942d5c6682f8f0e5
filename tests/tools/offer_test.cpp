#include "tools/compare/offer.h"

#include "tests/tools/script_folder.h"

#include <fstream>

#include <fmt/format.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

const Probe kTwo = {.devices = {{{"NVIDIA H200", 150'754'820'096, 0}, {}, {}},
                                {{"NVIDIA H200", 150'754'820'096, 1}, {}, {}}},
                    .link = "NVLink",
                    .versions = {{"driver", "580.95"}, {"cuda", "13.0"}, {"torch", "2.11.0"}}};

class FindOffer : public test::ScriptFolder {
 protected:
  // A driver that shows `gpus`; 0: no driver at all.
  Offer find(const CompareOptions& options, int gpus) {
    for (int i = 0; i < gpus; ++i) {
      fs::create_directories(folder_ / "gpus" / fmt::format("0000:{:02}:00.0", i));
    }
    return find_offer(options, {.program_folder = folder_,
                                .driver_folder = folder_ / "gpus",
                                .guest_device = folder_ / "dxg",
                                .visible_devices = "0,1",
                                .on_probe = [this] { ++probes_count_; }});
  }

  void build_trainer(const std::string& body = "cat <<'LINE'\n" + to_line(kTwo) + "LINE\n") {
    script("ddpprof-train-cuda", "echo >> \"$(dirname \"$0\")/was-started\"; " + body);
  }
  bool was_started() const { return fs::exists(folder_ / "was-started"); }

  int probes_count_ = 0;
};

TEST_F(FindOffer, AsksTheTrainerWhereThereAreGpus) {
  build_trainer();
  const Offer offer = find({}, 2);
  EXPECT_EQ(offer.gpus, 2);
  EXPECT_TRUE(offer.has_cuda_trainer);
  EXPECT_EQ(offer.probe, kTwo);
  EXPECT_FALSE(offer.probe_error);
  EXPECT_EQ(offer.visible_devices, "0,1");
  EXPECT_EQ(probes_count_, 1);
}

TEST_F(FindOffer, StartsNothingWithoutADriver) {
  build_trainer();
  CompareOptions options;
  options.gpus = 2;
  const Offer offer = find(options, 0);
  EXPECT_EQ(offer.gpus, 0);
  EXPECT_FALSE(offer.probe || offer.probe_error);
  EXPECT_FALSE(was_started());
  EXPECT_EQ(probes_count_, 0);
}

TEST_F(FindOffer, BelievesTheTrainerWhereTheDriverIsWindows) {
  build_trainer();
  std::ofstream(folder_ / "dxg") << "";
  const Offer offer = find_offer({}, {.program_folder = folder_,
                                      .driver_folder = folder_ / "gpus",
                                      .guest_device = folder_ / "dxg"});
  EXPECT_EQ(offer.gpus, 2);
  EXPECT_EQ(offer.probe, kTwo);
}

TEST_F(FindOffer, StartsNothingForARunOnTheCpu) {
  build_trainer();
  CompareOptions workers, device;
  workers.workers = 2;
  device.device = "cpu";
  EXPECT_FALSE(find(workers, 2).probe);
  EXPECT_FALSE(find(device, 2).probe);
  EXPECT_FALSE(was_started());
}

TEST_F(FindOffer, SaysThatThereIsNoTrainer) {
  const Offer offer = find({}, 2);
  EXPECT_FALSE(offer.has_cuda_trainer);
  EXPECT_FALSE(offer.probe || offer.probe_error);
}

TEST_F(FindOffer, KeepsWhyTheProbeFailed) {
  build_trainer("echo 'ddpprof-train-cuda: CUDA: no device' >&2; exit 1");
  const Offer offer = find({}, 2);
  EXPECT_FALSE(offer.probe);
  ASSERT_TRUE(offer.probe_error);
  EXPECT_EQ(offer.probe_error->problem, "CUDA: no device");
}

TEST(DescribeMachine, NamesTheGpusThatAreUsed) {
  Offer offer{.gpus = 2, .cpus = 32, .has_cuda_trainer = true, .probe = kTwo};
  CompareOptions options;
  options.gpus = 1;
  const MachineInfo one = describe_machine(plan_compare(options, offer), offer);
  ASSERT_EQ(one.devices.size(), 1u);
  EXPECT_EQ(one.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(one.devices[0].memory_bytes, 150'754'820'096);
  const MachineInfo two = describe_machine(plan_compare({}, offer), offer);
  EXPECT_EQ(two.devices.size(), 2u);
  EXPECT_EQ(two.link, "NVLink");
  EXPECT_EQ(two.cpu_count, 32);
  EXPECT_EQ(two.driver, "580.95");
  EXPECT_EQ(two.cuda, "13.0");
  EXPECT_EQ(two.torch, "2.11.0");
  EXPECT_EQ(two.nccl, std::nullopt) << "what the probe does not tell is absent";
}

TEST(DescribeMachine, SaysWhichLinkNcclWasLeft) {
  const Offer offer{.gpus = 2, .cpus = 32, .has_cuda_trainer = true, .probe = kTwo};
  CompareOptions options;
  options.link = "shm";
  EXPECT_EQ(describe_machine(plan_compare(options, offer), offer).link,
            "NVLink; NCCL used the host's shared memory (--link shm)");
  options.link = "p2p";
  EXPECT_EQ(describe_machine(plan_compare(options, offer), offer).link, "NVLink");
}

TEST(DescribeMachine, NamesTheThreadsOfACpu) {
  const Offer offer{.gpus = 0, .cpus = 8, .has_cuda_trainer = false};
  const MachineInfo machine = describe_machine(plan_compare({}, offer), offer);
  ASSERT_EQ(machine.devices.size(), 2u);
  EXPECT_NE(machine.devices[0].name.find("(4 threads)"), std::string::npos);
  EXPECT_EQ(machine.link, "shared memory and loopback");
  EXPECT_EQ(machine.driver, std::nullopt);
}

}  // namespace
}  // namespace ddpprof

#include "trainers/host/gloo_backend.h"

#include <cstdlib>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace ddpprof {

c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size,
                                                    const std::string& master_address,
                                                    std::chrono::milliseconds timeout) {
  using Gloo = c10d::ProcessGroupGloo;
  const auto options = Gloo::Options::create(timeout);
  options->threads = kGlooThreads;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') {
    options->devices.push_back(Gloo::createDeviceForInterface(interface));
  } else if (master_address == "localhost" || master_address.starts_with("127.")) {
    // A container's host name often resolves to nothing, or to an address others cannot reach.
    options->devices.push_back(Gloo::createDeviceForHostname("127.0.0.1"));
  } else {
    options->devices.push_back(Gloo::createDefaultDevice());
  }
  auto backend = c10::make_intrusive<Gloo>(store, rank, world_size, options);
  backend->setSequenceNumberForGroup();
  return backend;
}

}  // namespace ddpprof

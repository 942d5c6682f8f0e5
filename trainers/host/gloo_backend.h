// PyTorch's gloo backend, made without gloo's headers.
#pragma once

#include <chrono>
#include <string>

#include <c10/util/intrusive_ptr.h>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace ddpprof {

// Collectives that make progress at the same time. Source: torch.distributed, two a device.
inline constexpr int kGlooThreads = 2;

// `master_address`: ranks that meet at a loopback address talk over it; otherwise over the
// interface GLOO_SOCKET_IFNAME names, else over the one the host's name resolves to.
// Throws: whatever gloo throws when the other ranks do not come in time.
c10::intrusive_ptr<c10d::Backend> make_gloo_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, int world_size,
                                                    const std::string& master_address,
                                                    std::chrono::milliseconds timeout);

}  // namespace ddpprof

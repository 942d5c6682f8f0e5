// How the ranks of a job meet, and how they part.
#pragma once

#include "profiler/record/recorder.h"
#include "trainers/common/launcher_environment.h"
#include "trainers/common/timed_backend.h"

#include <cstdint>
#include <exception>
#include <functional>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace ddpprof {

// The ranks' common store, and the group on it.
struct Peers {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> group;
  c10::intrusive_ptr<TimedBackend> backend;  // the group's, for tensors on `device`
};

// Collective. `tell_port` is called on the rank that serves the store, before it waits for the
// others, with the port it listens on; without it port 0 is an error.
// Throws: Error, UsageError.
Peers meet_peers(const LauncherEnvironment& place, at::Device device, Recorder& recorder,
                 double timeout_s, const std::function<void(std::int32_t port)>& tell_port);

// Collective: the rank that serves the store leaves last. Everything that uses the group must be
// gone.
void leave_peers(Peers& peers, const LauncherEnvironment& place, double timeout_s);

// What a failed collective means to a user. Errors that are none of a collective's are thrown on.
[[noreturn]] void rethrow_as_peer_error(const std::exception_ptr& error, std::int32_t rank,
                                        double timeout_s);

}  // namespace ddpprof

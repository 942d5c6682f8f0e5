#include "trainers/common/process_group.h"

#include "profiler/trace/error.h"
#include "trainers/common/accelerator.h"
#include "trainers/common/listening_socket.h"

#include <string>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/debug.h>

namespace ddpprof {
namespace {

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

std::string to_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text.substr(0, text.size() - 1) : text;
}

c10::intrusive_ptr<c10d::Store> open_store(
    const LauncherEnvironment& place, double timeout_s,
    const std::function<void(std::int32_t port)>& tell_port) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(place.master_port);
  options.numWorkers = static_cast<std::size_t>(place.world_size);
  options.waitWorkers = false;  // the group's own rendezvous waits
  options.timeout = to_milliseconds(timeout_s);
  if (place.serves_store()) {
    // A socket of our own: its errors are clear, and port 0 becomes a number before anyone waits.
    const ListeningSocket socket = open_listening_socket(place.master_address, place.master_port);
    options.isServer = true;
    options.port = static_cast<std::uint16_t>(socket.port);
    options.masterListenFd = socket.descriptor;
    auto store = c10::make_intrusive<c10d::TCPStore>(place.master_address, options);
    if (tell_port) {
      tell_port(socket.port);
    }
    return store;
  }
  try {
    return c10::make_intrusive<c10d::TCPStore>(place.master_address, options);
  } catch (const std::exception&) {
    throw Error(
        "rank " + std::to_string(place.rank),
        "cannot reach rank 0 at " + place.master_address + ":" + std::to_string(place.master_port),
        "check that rank 0 runs, and that MASTER_ADDR and MASTER_PORT are the same on all "
        "ranks");
  }
}

void wait_for_all(c10d::Store& store, const LauncherEnvironment& place, double timeout_s) {
  const auto key = [](std::int32_t rank) { return "here/" + std::to_string(rank); };
  std::vector<std::string> keys;
  for (std::int32_t rank = 0; rank < place.world_size; ++rank) {
    keys.push_back(key(rank));
  }
  try {
    store.set(key(place.rank), std::vector<std::uint8_t>{1});
    store.wait(keys, to_milliseconds(timeout_s));
  } catch (const std::exception&) {
    throw Error("rank " + std::to_string(place.rank),
                "the other ranks did not come within " + to_text(timeout_s) + " s",
                "start all " + std::to_string(place.world_size) +
                    " ranks; if one ended, its own message says why");
  }
}

constexpr const char* kNcclHint =
    "NCCL_DEBUG=WARN makes NCCL say more; in a container, look at the size of /dev/shm";

// Without the C++ stack trace that PyTorch's errors carry.
std::string text_of(const std::exception& exception) {
  const auto* error = dynamic_cast<const c10::Error*>(&exception);
  return error == nullptr ? exception.what() : error->what_without_backtrace();
}

// NCCL's messages have their point after "Last error:", all others in the first line.
std::string essence(const std::string& text) {
  const std::string mark = "Last error:\n";
  const auto at = text.find(mark);
  const std::string point = at == std::string::npos ? text : text.substr(at + mark.size());
  return point.substr(0, point.find('\n'));
}

c10::intrusive_ptr<c10d::Backend> connect(const c10::intrusive_ptr<c10d::Store>& store,
                                          const LauncherEnvironment& place, at::Device device,
                                          double timeout_s) {
  try {
    return make_backend(store, place, device, to_milliseconds(timeout_s));
  } catch (const std::exception& error) {
    throw Error("rank " + std::to_string(place.rank),
                "cannot reach the other ranks: " + essence(text_of(error)),
                device.is_cuda() ? kNcclHint : "GLOO_SOCKET_IFNAME names the interface to use");
  }
}

}  // namespace

Peers meet_peers(const LauncherEnvironment& place, at::Device device, Recorder& recorder,
                 double timeout_s, const std::function<void(std::int32_t port)>& tell_port) {
  if (place.master_port == 0 && (!place.serves_store() || !tell_port)) {
    throw UsageError("MASTER_PORT=0", "needs a launcher that is told the port",
                     "set MASTER_PORT to a free port, such as 29500, on all ranks");
  }
  c10d::setDebugLevelFromEnvironment();  // TORCH_DISTRIBUTED_DEBUG
  Peers peers;
  peers.store = c10::make_intrusive<c10d::PrefixStore>("ddpprof/" + place.restart_count,
                                                       open_store(place, timeout_s, tell_port));
  peers.store->setTimeout(to_milliseconds(timeout_s));
  wait_for_all(*peers.store, place, timeout_s);
  auto backend = connect(peers.store, place, device, timeout_s);
  peers.backend = c10::make_intrusive<TimedBackend>(std::move(backend), device, recorder);
  peers.group = c10::make_intrusive<c10d::ProcessGroup>(peers.store, place.rank, place.world_size);
  // Not NCCL or GLOO: c10d::Logger would take our backend for PyTorch's own.
  peers.group->setDefaultBackend(c10d::ProcessGroup::BackendType::CUSTOM);
  peers.group->setBackend(device.type(), c10d::ProcessGroup::BackendType::CUSTOM, peers.backend);
  peers.group->setGroupName("world");
  return peers;
}

void leave_peers(Peers& peers, const LauncherEnvironment& place, double timeout_s) {
  peers.group->shutdown();
  peers.group.reset();
  peers.backend.reset();
  const auto key = [](std::int32_t rank) { return "left/" + std::to_string(rank); };
  peers.store->set(key(place.rank), std::vector<std::uint8_t>{1});
  if (place.serves_store()) {
    std::vector<std::string> keys;
    for (std::int32_t rank = 0; rank < place.world_size; ++rank) {
      keys.push_back(key(rank));
    }
    peers.store->wait(keys, to_milliseconds(timeout_s));
  }
  peers.store.reset();
}

void rethrow_as_peer_error(const std::exception_ptr& error, std::int32_t rank, double timeout_s) {
  const std::string subject = "rank " + std::to_string(rank);
  try {
    std::rethrow_exception(error);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& exception) {
    const std::string text = text_of(exception);
    const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
    if (has("out of memory") || !(has("gloo") || has("onnect") || has("NCCL"))) {
      throw;
    }
    if (has("imed out")) {
      throw Error(subject, "a collective did not end within " + to_text(timeout_s) + " s",
                  "another rank hangs or is far slower: look at its output, or raise --timeout");
    }
    if (has("NCCL") && !has("ncclRemoteError") && !has("onnection closed")) {
      throw Error(subject, "NCCL failed: " + essence(text), kNcclHint);
    }
    throw Error(subject, "lost another rank during a collective",
                "that rank ended early: its own message says why");
  }
}

}  // namespace ddpprof

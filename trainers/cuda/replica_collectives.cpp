#include "trainers/cuda/replica_collectives.h"

#include "trainers/common/accelerator.h"

#include <string_view>
#include <utility>

namespace ddpprof {
namespace {

constexpr std::string_view kCommunicator = "replicas";
constexpr std::int32_t kRoot = 0;

}  // namespace

ReplicaCollectives::ReplicaCollectives(Recorder& recorder, std::vector<at::Device> devices)
    : recorder_(recorder), devices_(std::move(devices)) {}

ReplicaCollectives::Under::Under(ReplicaCollectives& all, CollectiveKind kind,
                                 const std::vector<std::int64_t>& chunk_bytes)
    : all_(all) {
  handles_.reserve(chunk_bytes.size() * all.devices_.size());
  for (const std::int64_t bytes : chunk_bytes) {
    const std::int64_t sequence = all.sequence_++;
    for (std::size_t device = 0; device < all.devices_.size(); ++device) {
      handles_.push_back(
          all.recorder_.begin_collective({.kind = kind,
                                          .communicator = kCommunicator,
                                          .sequence = sequence,
                                          .bytes = bytes,
                                          .root = kRoot,
                                          .device = static_cast<std::int32_t>(device),
                                          .needs_work = true}));
    }
  }
}

ReplicaCollectives::Under::~Under() {
  for (const CollectiveHandle handle : handles_) {
    all_.recorder_.end_launch(handle);
  }
  for (const CollectiveHandle handle : handles_) {
    all_.recorder_.end_collective(handle);
  }
}

}  // namespace ddpprof

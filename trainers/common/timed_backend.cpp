#include "trainers/common/timed_backend.h"

#include "trainers/common/accelerator.h"
#include "trainers/common/trainer_kind.h"

#include <ATen/core/ivalue.h>

namespace ddpprof {
namespace {

constexpr std::string_view kCommunicator = "world";

std::int64_t count_bytes(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) {
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return bytes;
}

// Absent for what PyTorch's groups do not send, or where the tensors differ.
std::optional<ElementType> element_type_of(const std::vector<at::Tensor>& tensors) {
  std::optional<ElementType> type;
  for (const at::Tensor& tensor : tensors) {
    const std::optional<ElementType> own = parse_element_type(c10::toString(tensor.scalar_type()));
    if (&tensor != tensors.data() && own != type) {
      return std::nullopt;
    }
    type = own;
  }
  return type;
}

}  // namespace

TimedBackend::TimedBackend(c10::intrusive_ptr<c10d::Backend> inner, at::Device device,
                           Recorder& recorder)
    : Backend(inner->getRank(), inner->getSize()),
      inner_(std::move(inner)),
      device_(device),
      recorder_(recorder) {}

void TimedBackend::begin_backward() {
  in_backward_ = true;
  bucket_ = 0;
}

void TimedBackend::end_backward() { in_backward_ = false; }

void TimedBackend::setGroupUid(const std::string& uid) {
  Backend::setGroupUid(uid);
  inner_->setGroupUid(uid);
}

// Between begin_collective() and end_launch() nothing may launch but what carries the collective.
template <typename Call>
c10::intrusive_ptr<c10d::Work> TimedBackend::timed(const CollectiveStart& start, const Call& call) {
  const CollectiveHandle handle = recorder_.begin_collective(start);
  auto work = call();
  recorder_.end_launch(handle);
  report_end(work, handle);
  return work;
}

c10::intrusive_ptr<c10d::Work> TimedBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                       const c10d::AllreduceOptions& options) {
  recorder_.count(Counter::all_reduce);
  // The other one in a backward is the map of used parameters, of integers.
  if (in_backward_ && tensors.at(0).is_floating_point()) {
    return allreduce_bucket(tensors, options);
  }
  return timed({.kind = CollectiveKind::all_reduce,
                .communicator = kCommunicator,
                .sequence = sequence_++,
                .bytes = count_bytes(tensors),
                .element_type = element_type_of(tensors)},
               [&] { return inner_->allreduce(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> TimedBackend::allreduce_bucket(
    std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& options) {
  const PhaseScope scope(recorder_, Phase::all_reduce, "all_reduce", {.brief = true});
  if (delay_ != nullptr) {
    delay_->act(Phase::all_reduce);
  }
  return timed({.kind = CollectiveKind::all_reduce,
                .communicator = kCommunicator,
                .sequence = sequence_++,
                .bytes = count_bytes(tensors),
                .element_type = element_type_of(tensors),
                .gradient = true,
                .bucket = bucket_++},
               [&] { return inner_->allreduce(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> TimedBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                       const c10d::BroadcastOptions& options) {
  recorder_.count(Counter::broadcast);
  return timed({.kind = CollectiveKind::broadcast,
                .communicator = kCommunicator,
                .sequence = sequence_++,
                .bytes = count_bytes(tensors),
                .element_type = element_type_of(tensors),
                .root = static_cast<std::int32_t>(options.rootRank)},
               [&] { return inner_->broadcast(tensors, options); });
}

c10::intrusive_ptr<c10d::Work> TimedBackend::allgather(
    std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs,
    const c10d::AllgatherOptions& options) {
  return timed({.kind = CollectiveKind::all_gather,
                .communicator = kCommunicator,
                .sequence = sequence_++,
                .bytes = count_bytes(inputs),
                .element_type = element_type_of(inputs)},
               [&] { return inner_->allgather(outputs, inputs, options); });
}

c10::intrusive_ptr<c10d::Work> TimedBackend::barrier(const c10d::BarrierOptions& options) {
  return timed({.kind = CollectiveKind::barrier,
                .communicator = kCommunicator,
                .sequence = sequence_++,
                .bytes = 0},
               [&] { return inner_->barrier(options); });
}

void TimedBackend::report_end(const c10::intrusive_ptr<c10d::Work>& work, CollectiveHandle handle) {
  if (handle.index == CollectiveHandle{}.index) {
    return;  // not recorded
  }
  if (!kTrainerKind.devices_are_threads) {
    // A callback of the future would run on streams of PyTorch's pool, another one each time.
    // Measured: events on those cost DDP 5 % of a step of large kernels, on one stream 2 to 3 %.
    recorder_.end_collective(handle,
                             recorder_.sees_work() ? nullptr : stream_behind(*work, device_));
    return;
  }
  ++unreported_;
  work->getFuture()->addCallback([this, handle](c10::ivalue::Future& /*future*/) {
    recorder_.end_collective(handle);
    if (--unreported_ == 0) {
      unreported_.notify_all();
    }
  });
}

void TimedBackend::wait_for_reports() const {
  for (std::int64_t count = unreported_; count != 0; count = unreported_) {
    unreported_.wait(count);
  }
}

}  // namespace ddpprof

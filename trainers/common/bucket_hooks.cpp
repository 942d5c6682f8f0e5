#include "trainers/common/bucket_hooks.h"

#include "trainers/common/trainer_kind.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <ATen/record_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

namespace ddpprof {
namespace {

constexpr std::string_view kCopyIn = "bucket_copy";
constexpr std::string_view kFinalize = "finalize_buckets";

class PairHook : public torch::autograd::FunctionPostHook {
 public:
  PairHook(Recorder& recorder, const bool& are_due, bool opens)
      : recorder_(recorder), are_due_(are_due), opens_(opens) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    if (are_due_) {
      if (opens_) {
        recorder_.begin_scope(Phase::bucket_copy, kCopyIn, {.computes = true, .brief = true});
      } else {
        recorder_.end_scope();
      }
    }
    return outputs;  // of an accumulator: none
  }

 private:
  Recorder& recorder_;
  const bool& are_due_;
  bool opens_;
};

// What the Reducer announces of its copies while it finalizes. The first two only where a static
// graph's first iteration reduces at its end.
// Source: torch/csrc/distributed/c10d/reducer.cpp, 2.11.
constexpr std::array<std::string_view, 3> kCopies = {
    "torch::distributed::reducer::mul_out",
    "torch::distributed::reducer::copy_",
    "torch.distributed.ddp.reducer::copy_bucket_to_grad",
};

// Callbacks are plain functions, so what they need has to be found.
thread_local Recorder* recorder_of_this_thread = nullptr;

struct OpenCopy : at::ObserverContext {
  OpenCopy(Recorder& recorder, std::string_view name)
      : scope(recorder, Phase::bucket_copy, name, {.computes = true, .brief = true}) {}
  PhaseScope scope;
};

std::unique_ptr<at::ObserverContext> begin_copy(const at::RecordFunction& function) {
  if (recorder_of_this_thread == nullptr) {
    return nullptr;
  }
  const auto name = std::ranges::find(kCopies, std::string_view(function.name()));
  return name == kCopies.end() ? nullptr
                               : std::make_unique<OpenCopy>(*recorder_of_this_thread, *name);
}

// The context's destructor ends the scope.
void end_copy(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {}

// Alive = copies that the calling thread announces are scopes.
class AnnouncedCopies {
 public:
  explicit AnnouncedCopies(Recorder& recorder) {
    recorder_of_this_thread = &recorder;
    callback_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(begin_copy, end_copy).scopes({at::RecordScope::FUNCTION}));
  }
  ~AnnouncedCopies() {
    at::removeCallback(callback_);
    recorder_of_this_thread = nullptr;
  }
  AnnouncedCopies(const AnnouncedCopies&) = delete;
  AnnouncedCopies& operator=(const AnnouncedCopies&) = delete;

 private:
  at::CallbackHandle callback_;
};

}  // namespace

BucketHooks::BucketHooks(Recorder& recorder, const std::vector<at::Tensor>& parameters)
    : recorder_(recorder) {
  for (const at::Tensor& parameter : parameters) {
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameter));
    add_hook(accumulators_.back(), /*opens=*/true);
  }
}

BucketHooks::~BucketHooks() {
  for (const auto& [accumulator, key] : hooks_) {
    accumulator->del_post_hook(key);
  }
}

void BucketHooks::close_pairs() {
  for (const Accumulator& accumulator : accumulators_) {
    add_hook(accumulator, /*opens=*/false);
  }
}

void BucketHooks::add_hook(const Accumulator& accumulator, bool opens) {
  hooks_.emplace_back(accumulator, accumulator->add_post_hook(
                                       std::make_unique<PairHook>(recorder_, are_due_, opens)));
}

void BucketHooks::enclose_finalize() {
  recorder_.begin_scope(Phase::bucket_copy, kFinalize, {.brief = true});
  std::shared_ptr<AnnouncedCopies> copies;
  if (kTrainerKind.devices_are_threads) {
    copies = std::make_shared<AnnouncedCopies>(recorder_);
  }
  torch::autograd::Engine::get_default_engine().queue_callback([this, copies]() mutable {
    copies.reset();
    recorder_.end_scope();
  });
}

}  // namespace ddpprof

#include "trainers/common/bucket_scopes.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <ATen/record_function.h>

namespace ddpprof {
namespace {

// Source: torch/csrc/distributed/c10d/reducer.cpp, 2.11.
constexpr std::array<std::string_view, 4> kNames = {
    "torch::distributed::reducer::mul_out",
    "torch::distributed::reducer::copy_",
    "torch.distributed.ddp.reducer::copy_bucket_to_grad",
    "torch.distributed.ddp.reducer::search_unused_parameters",
};

// Callbacks are plain functions, so what they need has to be found. Thread-local like the
// callback: gloo's threads inherit that, but find null here.
thread_local Recorder* recorder_of_this_thread = nullptr;

struct OpenScope : at::ObserverContext {
  OpenScope(Recorder& recorder, std::string_view name)
      : scope(recorder, Phase::bucket_copy, name, {.computes = true}) {}
  PhaseScope scope;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  if (recorder_of_this_thread == nullptr) {
    return nullptr;
  }
  const auto name = std::ranges::find(kNames, std::string_view(function.name()));
  return name == kNames.end() ? nullptr
                              : std::make_unique<OpenScope>(*recorder_of_this_thread, *name);
}

// The context's destructor ends the scope.
void end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {}

}  // namespace

BucketScopes::BucketScopes(Recorder& recorder) {
  recorder_of_this_thread = &recorder;
  callback_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
}

BucketScopes::~BucketScopes() {
  at::removeCallback(callback_);
  recorder_of_this_thread = nullptr;
}

}  // namespace ddpprof

#include "trainers/common/reducer_setup.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/version.h>

namespace ddpprof {
namespace {

static_assert(TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR == 11,
              "c10d::Reducer's constructor differs from release to release");

constexpr double kBytesPerMb = 1024.0 * 1024.0;  // what DistributedDataParallel calls a MB
// Source: torch/nn/parallel/distributed.py, broadcast_bucket_size.
constexpr std::size_t kBroadcastBytes = std::size_t{250} * 1024 * 1024;

struct BucketCaps {
  std::int64_t first_bytes = c10d::kDefaultFirstBucketBytes;
  std::int64_t other_bytes = c10d::kDefaultBucketBytesCap;
};

BucketCaps choose_caps(const ReducerOptions& options) {
  BucketCaps caps;
  if (options.bucket_cap_mb) {
    caps.other_bytes = static_cast<std::int64_t>(*options.bucket_cap_mb * kBytesPerMb);
    caps.first_bytes = caps.other_bytes;
  }
  if (options.first_bucket_mb) {
    caps.first_bytes = static_cast<std::int64_t>(*options.first_bucket_mb * kBytesPerMb);
  }
  return caps;
}

// One bucket for the first iteration; it shows the order in which gradients come, and the real
// buckets are made from that order in the second. With find_unused_parameters they stay as they
// are made here.
std::vector<std::size_t> initial_limits(const ReducerOptions& options, const BucketCaps& caps) {
  if (options.static_graph || !options.find_unused_parameters) {
    return {static_cast<std::size_t>(std::numeric_limits<int>::max())};
  }
  return {static_cast<std::size_t>(caps.first_bytes), static_cast<std::size_t>(caps.other_bytes)};
}

class SummingHook : public c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>> {
 public:
  using CppCommHookInterface::CppCommHookInterface;
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    std::vector<at::Tensor> tensors = {bucket.getBufferRef()};
    return state_->allreduce(tensors)->getFuture();
  }
};

// What PyTorch's FP16CompressCommHook does, in bf16, which it has in Python only. Divides before it
// adds, so that the sum has the range of one rank's gradients.
class Bf16Hook : public c10d::CppCommHookInterface<c10::intrusive_ptr<c10d::ProcessGroup>> {
 public:
  using CppCommHookInterface::CppCommHookInterface;
  c10::intrusive_ptr<c10::ivalue::Future> runHook(c10d::GradBucket& bucket) override {
    const at::Tensor full = bucket.getBufferRef();
    std::vector<at::Tensor> sent = {full.to(at::kBFloat16).div_(state_->getSize())};
    const auto reduced = state_->allreduce(sent)->getFuture();
    return reduced->then(
        [full](c10::ivalue::Future& future) {
          return c10::IValue(full.copy_(future.value().toTensorVector().front()));
        },
        reduced->elementType());
  }
};

class Sink : public torch::autograd::Function<Sink> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& output,
                            const std::function<void()>* on_backward) {
    context->set_materialize_grads(false);
    context->saved_data["on_backward"] = reinterpret_cast<std::int64_t>(on_backward);
    return output.clone();
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    // The context keeps numbers and tensors, no pointers.
    const auto* on_backward =  // NOLINTNEXTLINE(performance-no-int-to-ptr)
        reinterpret_cast<const std::function<void()>*>(context->saved_data["on_backward"].toInt());
    (*on_backward)();
    return {gradients[0], at::Tensor()};
  }
};

}  // namespace

void take_over_rank_0(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                      const std::vector<at::Tensor>& parameters,
                      const std::vector<at::Tensor>& buffers) {
  c10d::verify_params_across_processes(group, parameters, {});
  std::vector<at::Tensor> values;
  for (const at::Tensor& parameter : parameters) {
    values.push_back(parameter.detach());
  }
  values.insert(values.end(), buffers.begin(), buffers.end());
  c10d::broadcast_coalesced(group, values, kBroadcastBytes, 0);
}

ReducerParts make_reducer(const NamedTensors& parameters,
                          const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                          const ReducerOptions& options, const std::string& model_name) {
  const BucketCaps caps = choose_caps(options);
  const std::vector<bool> is_sparse(parameters.tensors.size(), false);
  auto [buckets, limits] = c10d::compute_bucket_assignment_by_size(
      parameters.tensors, initial_limits(options, caps), is_sparse);
  // Gradients come roughly from the last parameter to the first.
  std::ranges::reverse(buckets);
  std::unordered_map<std::size_t, std::string> names;
  for (std::size_t i = 0; i < parameters.names.size(); ++i) {
    names[i] = parameters.names[i];
  }
  ReducerParts parts;
  parts.reducer = std::make_shared<c10d::Reducer>(
      parameters.tensors, std::move(buckets), group, is_sparse, caps.other_bytes,
      options.find_unused_parameters, options.gradient_as_bucket_view, std::move(names),
      caps.first_bytes, /*skip_all_reduce_unused_params=*/false, /*use_python_reducer=*/false,
      /*bucket_bytes_cap_list=*/std::vector<std::int64_t>{});
  parts.logger = std::make_shared<c10d::Logger>(parts.reducer);
  parts.reducer->set_logger(parts.logger);
  // Of a CPU neither is given.
  const at::Device device = parameters.tensors.front().device();
  const std::vector<int> device_ids =
      device.is_cuda() ? std::vector<int>{device.index()} : std::vector<int>{};
  parts.logger->set_construction_data_and_log(model_name, device_ids, device.index(),
                                              options.broadcast_buffers, /*has_sync_bn=*/false,
                                              options.static_graph);
  if (options.static_graph) {
    parts.reducer->set_static_graph();
    parts.logger->set_static_graph();
  }
  return parts;
}

void broadcast_buffers(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                       const std::vector<at::Tensor>& buffers) {
  const at::NoGradGuard no_grad;
  c10d::broadcast_coalesced(group, buffers, kBroadcastBytes, 0);
}

std::vector<std::vector<std::size_t>> parse_buckets(const std::string& text,
                                                    std::size_t parameters_count) {
  std::vector<std::vector<std::size_t>> buckets;
  std::vector<bool> seen(parameters_count, false);
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    std::vector<std::size_t>& bucket = buckets.emplace_back();
    std::istringstream indices(part);
    for (std::size_t index = 0; indices >> index;) {
      if (index >= parameters_count || seen[index]) {
        throw Error("buckets of the checkpoint", "are not of this model's parameters");
      }
      seen[index] = true;
      bucket.push_back(index);
    }
  }
  if (std::ranges::find(seen, false) != seen.end()) {
    throw Error("buckets of the checkpoint", "are not of all of this model's parameters");
  }
  return buckets;
}

void add_comm_hook(c10d::Reducer& reducer, const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                   CommHook hook) {
  if (hook == CommHook::fp16) {
    reducer.register_builtin_comm_hook(c10d::BuiltinCommHookType::FP16_COMPRESS);
  } else if (hook == CommHook::bf16) {
    reducer.register_comm_hook(std::make_unique<Bf16Hook>(group));
  }
}

void plant_summing_hook(c10d::Reducer& reducer,
                        const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  reducer.register_comm_hook(std::make_unique<SummingHook>(group));
}

at::Tensor sink(const at::Tensor& output, const std::function<void()>& on_backward) {
  return Sink::apply(output, &on_backward);
}

}  // namespace ddpprof

// DistributedDataParallel: one process a device, gradients averaged by PyTorch's c10d::Reducer
// while backward still runs. What its Python module does around the Reducer is done here; the
// comments name the step of DistributedDataParallel.forward they stand for.
#include "trainers/ddp.h"

#include "trainers/common/accelerator.h"
#include "trainers/common/bucket_hooks.h"
#include "trainers/common/precision.h"
#include "trainers/common/process_group.h"
#include "trainers/common/reducer_setup.h"
#include "trainers/common/trainer_kind.h"
#include "trainers/workloads/model.h"

#include <optional>

#include <torch/csrc/autograd/engine.h>

namespace ddpprof {
namespace {

// Source: c10d::kDDPRuntimeLoggingSampleRate, and "every iteration".
constexpr int kUsualLoggingRate = c10d::kDDPRuntimeLoggingSampleRate;
constexpr int kRecordingLoggingRate = 1;

class DistributedDataParallel : public Strategy {
 public:
  explicit DistributedDataParallel(const StrategyInput& input)
      : Strategy(input), place_(input.place) {
    std::function<void(std::int32_t)> tell_port;
    if (input.control != nullptr) {
      tell_port = [control = input.control](std::int32_t port) {
        control->send(PortMessage{.port = port});
      };
    }
    peers_ = meet_peers(place_, device(), recorder_, options_.timeout_s, tell_port);
    guarded([&] {
      take_over_rank_0(peers_.group, parameters_, unique_buffers(*model_));
      bucket_hooks_.emplace(recorder_, parameters_);
      parts_ = make_reducer(unique_parameters(*model_), peers_.group, options_.reducer,
                            workload_.model_text);
      bucket_hooks_->close_pairs();
    });
    if (is_planted(fault_, FaultKind::sum_gradients, place_.rank, place_.world_size)) {
      plant_summing_hook(*parts_.reducer, peers_.group);
    } else {
      add_comm_hook(*parts_.reducer, peers_.group, options_.reducer.comm_hook);
    }
    peers_.backend->plant(delay_);
    on_sink_backward_ = [this] { delay_first_all_reduce(); };
  }

  at::Tensor forward_backward(const Batch& batch, bool is_last, const LossScale& scale) override {
    // A bug of PyTorch 2.11 (pytorch/pytorch pull request 187732): a static graph that sees an
    // unsynchronised backward before its second synchronised one never reduces again. Reducing the
    // sum so far once more does not change it, so the first step synchronises always.
    const bool sync =
        is_last || !options_.reducer.no_sync || (options_.reducer.static_graph && is_first_step_);
    is_first_step_ = is_first_step_ && !is_last;
    at::Tensor loss;  // ()
    guarded([&] {
      at::Tensor output = forward(batch, sync);  // (B, …)
      {
        const PhaseScope scope(recorder_, Phase::loss, "loss", {.computes = true});
        loss = workload_.loss(output, batch);
      }
      const PhaseScope scope(recorder_, Phase::backward, "backward", {.computes = true});
      backward(scale.applied_to(loss), sync);
      // Backward's computing ended before its wait for the last all-reduce.
      const PhaseScope dropping(recorder_, Phase::backward, "drop_graph",
                                {.computes = true, .brief = true});
      loss = drop_graph(output, loss);
    });
    return loss;
  }

  void zero_gradients() override {
    if (!options_.reducer.gradient_as_bucket_view) {
      Strategy::zero_gradients();
      return;
    }
    // Dropping them would cost the copy into the bucket that the views are there to save.
    const at::NoGradGuard no_grad;
    for (const at::Tensor& parameter : parameters_) {
      if (parameter.grad().defined()) {
        parameter.mutable_grad().zero_();
      }
    }
  }

  void set_recording(bool is_on) override {
    // On a GPU that would change what is measured: filling the figures waits for the device in
    // every forward.
    if (kTrainerKind.devices_are_threads) {
      parts_.reducer->set_ddp_runtime_logging_sample_rate(is_on ? kRecordingLoggingRate
                                                                : kUsualLoggingRate);
    }
    if (!is_on) {
      peers_.backend->wait_for_reports();
    }
  }

  void sum_over_ranks(at::Tensor& tensor) override {
    guarded([&] {
      std::vector<at::Tensor> tensors = {tensor};
      peers_.group->allreduce(tensors)->wait();
    });
  }

  void describe(TraceInfo& info) const override {
    const at::DDPLoggingData data = parts_.logger->get_ddp_logging_data();
    info.ddp_logging_numbers.insert(data.ints_map.begin(), data.ints_map.end());
    info.ddp_logging_texts.insert(data.strs_map.begin(), data.strs_map.end());
  }

  std::string layout() const override {
    const auto texts = parts_.logger->get_ddp_logging_data().strs_map;
    const auto found = texts.find("rebuilt_per_bucket_param_indices");
    return found == texts.end() ? std::string() : found->second;
  }

  void take_layout(const std::string& layout) override {
    if (!layout.empty()) {
      parts_.reducer->initialize_buckets(parse_buckets(layout, parameters_.size()));
    }
  }

  void shut_down() override {
    guarded([&] {
      synchronize(device());
      parts_.logger.reset();
      parts_.reducer.reset();
      bucket_hooks_.reset();
      leave_peers(peers_, place_, options_.timeout_s);
    });
  }

 private:
  at::Tensor forward(const Batch& batch, bool sync) {
    const PhaseScope scope(recorder_, Phase::forward, "DistributedDataParallel.forward",
                           {.computes = true});
    delay_.act(Phase::forward);
    if (sync) {
      parts_.logger->set_runtime_stats_and_log();
      parts_.reducer->prepare_for_forward();
    }
    // Once: at the second synchronised iteration.
    parts_.reducer->rebuild_buckets();
    if (options_.reducer.broadcast_buffers && buffers_are_due_) {
      const std::vector<at::Tensor> buffers = unique_buffers(*model_);
      if (!buffers.empty()) {
        const PhaseScope waiting(recorder_, Phase::forward, "broadcast_buffers");
        broadcast_buffers(peers_.group, buffers);
      }
    }
    at::Tensor output;  // (B, …)
    {
      const PhaseScope module(recorder_, Phase::forward, "forward",
                              {.computes = true, .brief = true});
      const AutocastScope autocast(device().type(), autocast_type(options_.precision));
      output = model_->forward(batch.inputs);
    }
    recorder_.count(Counter::forward);
    return finish_forward(output, sync);
  }

  // DistributedDataParallel._post_forward.
  at::Tensor finish_forward(const at::Tensor& output, bool sync) {
    const bool searches = options_.reducer.find_unused_parameters && !options_.reducer.static_graph;
    buffers_are_due_ = sync;
    if (sync && searches) {
      const PhaseScope scope(recorder_, Phase::bucket_copy, "search_unused_parameters",
                             {.computes = true, .brief = true});
      parts_.reducer->prepare_for_backward({output});
    } else if (sync) {
      parts_.reducer->prepare_for_backward({});
    }
    const bool delays = options_.reducer.static_graph && sync && !first_all_reduce_is_delayed_;
    return searches || delays ? sink(output, on_sink_backward_) : output;
  }

  // The first iteration of a static graph only counts; it reduces at its end.
  void delay_first_all_reduce() {
    if (options_.reducer.static_graph && !first_all_reduce_is_delayed_) {
      first_all_reduce_is_delayed_ = true;
      torch::autograd::Engine::get_default_engine().queue_callback(
          [reducer = parts_.reducer] { reducer->delay_all_reduce(); });
    }
  }

  // Inside the scope of backward.
  void backward(const at::Tensor& loss, bool sync) {
    bucket_hooks_->expect_copies(sync);
    plant_in_backward(loss);
    if (!sync) {
      loss.backward();
      recorder_.count(Counter::backward);
      return;
    }
    if (recorder_.hears_scopes()) {
      // Final callbacks run in the order in which they are queued, and the Reducer queues its own,
      // in which it or the device waits for the last all-reduce, only after its last bucket is
      // under way.
      loss.register_hook([this](const at::Tensor& /*gradient*/) {
        torch::autograd::Engine::get_default_engine().queue_callback([this] {
          recorder_.end_compute();
          recorder_.change_phase(Phase::all_reduce);
          bucket_hooks_->enclose_finalize();
        });
      });
    }
    peers_.backend->begin_backward();
    loss.backward();
    peers_.backend->end_backward();
    recorder_.count(Counter::backward);
    parts_.reducer->check_finalized();
  }

  template <typename Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (...) {
      rethrow_as_peer_error(std::current_exception(), place_.rank, options_.timeout_s);
    }
  }

  const LauncherEnvironment& place_;
  Peers peers_;
  ReducerParts parts_;
  std::function<void()> on_sink_backward_;
  std::optional<BucketHooks> bucket_hooks_;
  bool is_first_step_ = true;
  bool buffers_are_due_ = false;  // the previous forward synchronised
  bool first_all_reduce_is_delayed_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_ddp(const StrategyInput& input) {
  return std::make_unique<DistributedDataParallel>(input);
}

}  // namespace ddpprof

#include "trainers/common/accelerator.h"
#include "trainers/common/metrics.h"
#include "trainers/common/runs.h"

#include <torch/version.h>

namespace ddpprof {
namespace {

// A sign of life; not more often, since it is sent between measured steps.
constexpr std::int64_t kProgressNs = 1'000'000'000;

// Tells the controller how far a stage is, not too often.
class Progress {
 public:
  Progress(ControlChannel& control, std::string_view stage, std::int64_t steps_count)
      : control_(control), stage_(stage), steps_count_(steps_count) {}

  void show(std::int64_t step, std::int64_t time_ns) {
    if (time_ns - last_ns_ >= kProgressNs) {
      last_ns_ = time_ns;
      control_.send(ProgressMessage{.stage = stage_, .step = step, .steps_count = steps_count_});
    }
  }

 private:
  ControlChannel& control_;
  std::string stage_;
  std::int64_t steps_count_;
  std::int64_t last_ns_ = 0;
};

RanMessage obey(RunContext& context, ControlChannel& control, const RunOrder& order) {
  Progress progress(control, "steps", order.discarded + order.steps);
  StepClock clock(context.strategy.device(), order.steps + 1);
  for (std::int64_t i = 0; i < order.discarded; ++i) {
    context.loop.run_step();
    progress.show(i + 1, now_ns());
  }
  if (order.record) {
    start_recording(context, order.visit);
  }
  clock.mark();
  for (std::int64_t i = 0; i < order.steps; ++i) {
    context.loop.run_step();
    clock.mark();
    progress.show(order.discarded + i + 1, now_ns());
  }
  if (order.record) {
    stop_recording(context);
  }
  return {.step_ends_ns = clock.take_ns()};
}

}  // namespace

void run_orders(RunContext& context, ControlChannel& control) {
  const TrainOptions& options = context.input.options;
  Metrics metrics(context);
  Progress progress(control, "warm-up", options.warmup);
  for (std::int64_t step = 1; step <= options.warmup; ++step) {
    context.loop.run_step();
    progress.show(step, now_ns());
  }
  metrics.write();
  control.send(ReadyMessage{.workload = context.info.workload,
                            .devices = context.info.devices,
                            .torch_version = TORCH_VERSION});
  while (true) {
    const Order order = control.receive();
    if (std::holds_alternative<FinishOrder>(order)) {
      break;
    }
    const RanMessage ran = obey(context, control, std::get<RunOrder>(order));
    metrics.write();
    control.send(ran);
  }
  write_trace(context);
  control.send(DoneMessage{.steps_count = context.loop.steps_count(),
                           .first_loss = context.loop.first_loss(),
                           .last_loss = context.loop.last_loss()});
}

}  // namespace ddpprof

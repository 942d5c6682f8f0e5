#include "trainers/common/accelerator.h"
#include "trainers/common/checkpoints.h"
#include "trainers/common/evaluation.h"
#include "trainers/common/metrics.h"
#include "trainers/common/runs.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include <unistd.h>

namespace ddpprof {
namespace {

constexpr double kProgressSeconds = 0.2;
constexpr double kPlainSeconds = 5;             // where lines pile up in a log
constexpr std::int64_t kMetricsInterval = 100;  // steps between collective writes

double to_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// One line on stderr: rewritten on a terminal, a new one now and then elsewhere. Rank 0 only.
class ProgressLine {
 public:
  ProgressLine(bool is_silent, std::int64_t begin_ns) : is_silent_(is_silent), last_ns_(begin_ns) {}
  ~ProgressLine() {
    if (is_terminal_ && is_shown_) {
      std::fputs("\r\033[K", stderr);
    }
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Reading the loss waits for the device, so it is not shown in steps that are recorded. The rate
  // is asked for after that wait.
  void show(const TrainingLoop& loop, std::int64_t steps_count, bool is_recorded,
            const std::function<double()>& samples_per_s) {
    const std::int64_t time_ns = now_ns();
    const double interval_s = is_terminal_ ? kProgressSeconds : kPlainSeconds;
    if (is_silent_ || to_seconds(time_ns - last_ns_) < interval_s) {
      return;
    }
    last_ns_ = time_ns;
    is_shown_ = true;
    std::fprintf(stderr, "%sstep %lld of %lld", is_terminal_ ? "\r\033[K" : "",
                 static_cast<long long>(loop.steps_count()), static_cast<long long>(steps_count));
    if (is_recorded) {
      std::fputs(", recorded", stderr);
    } else {
      std::fprintf(stderr, ", loss %.4f", loop.last_loss().value_or(0));
    }
    std::fprintf(stderr, ", %.1f samples/s%s", samples_per_s(), is_terminal_ ? "" : "\n");
  }

 private:
  bool is_silent_;
  bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool is_shown_ = false;
  std::int64_t last_ns_;
};

void print_result(RunContext& context, double samples_per_s, std::optional<double> mean_loss,
                  const std::optional<Accuracy>& accuracy) {
  const TrainOptions& options = context.input.options;
  std::printf("%s, %s, %lld device%s: %lld steps", options.workload.c_str(),
              options.strategy.c_str(),
              static_cast<long long>(context.info.devices.size()) * context.info.world_size,
              context.info.devices.size() * context.info.world_size == 1 ? "" : "s",
              static_cast<long long>(context.loop.steps_count()));
  if (mean_loss) {
    std::printf(", loss %.6f", *mean_loss);
  }
  if (accuracy) {
    std::printf(", test accuracy %.2f %% (%lld of %lld)",
                100.0 * static_cast<double>(accuracy->right_count) /
                    static_cast<double>(accuracy->samples_count),
                static_cast<long long>(accuracy->right_count),
                static_cast<long long>(accuracy->samples_count));
  }
  std::printf(", %.1f samples/s", samples_per_s);
  if (const auto skipped = context.loop.update().skipped_count(); skipped.value_or(0) > 0) {
    std::printf(", %lld step%s skipped by loss scaling", static_cast<long long>(*skipped),
                *skipped == 1 ? "" : "s");
  }
  std::puts("");
  std::fflush(stdout);
}

}  // namespace

void run_alone(RunContext& context) {
  const TrainOptions& options = context.input.options;
  const std::int64_t steps_count = context.loop.run_steps();
  Checkpoints checkpoints(context);
  checkpoints.resume();
  const std::int64_t first_step = context.loop.steps_count();
  // At least the last step is recorded.
  const std::int64_t record_from = std::min(first_step + options.warmup, steps_count - 1);
  Metrics metrics(context);
  const std::int64_t begin_ns = now_ns();
  const auto samples_per_s = [&] {
    return static_cast<double>((context.loop.steps_count() - first_step) * options.batch) /
           to_seconds(now_ns() - begin_ns);
  };
  double final_samples_per_s = 0;
  {
    ProgressLine progress(context.input.place.rank != 0, begin_ns);
    for (std::int64_t step = first_step; step < steps_count; ++step) {
      if (!context.trace.empty() && step == record_from) {
        start_recording(context, 0);
      }
      context.loop.run_step();
      progress.show(context.loop, steps_count, context.input.recorder.is_on(), samples_per_s);
      const std::int64_t done = step + 1;
      if (done % kMetricsInterval == 0) {
        metrics.write();
      }
      if (done < steps_count && options.eval_every && done % *options.eval_every == 0) {
        metrics.write();
        metrics.write(evaluate(context.input, context.strategy));
      }
      checkpoints.write_if_due(done == steps_count);
    }
    synchronize(context.strategy.device());
    final_samples_per_s = samples_per_s();
  }
  if (!context.trace.empty()) {
    stop_recording(context);
  }
  metrics.write();
  const std::optional<double> loss = context.loop.mean_last_loss();
  const std::optional<Accuracy> accuracy = evaluate(context.input, context.strategy);
  metrics.write(accuracy);
  if (context.input.place.rank == 0) {
    print_result(context, final_samples_per_s, loss, accuracy);
  }
  write_trace(context);
}

}  // namespace ddpprof

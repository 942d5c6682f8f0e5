#include "tools/compare/turns.h"

#include "profiler/trace/error.h"
#include "reports/numbers.h"
#include "tools/launcher/crew.h"
#include "tools/launcher/environment.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace ddpprof {
namespace {

// Steps after a change of turns that are not counted: caches, clocks and buffers of the process
// that waited are cold.
constexpr std::int64_t kDiscardedSteps = 2;

// The processes of one strategy, and what they measured so far.
struct Job {
  StrategyPlan plan;
  std::vector<std::size_t> members;
  StrategyInput input;
  RunRecord::Files files;
  std::vector<double> visit_seconds;
};

std::string title(const StrategyPlan& plan) {
  if (plan.key == "single") return "one device";
  return fmt::format("{} on {} device{}", plan.key == "dp" ? "DP" : "DDP", plan.devices,
                     plan.devices == 1 ? "" : "s");
}

class Controller {
 public:
  Controller(const ComparePlan& plan, const TurnsSetting& setting, const RunDirectory& directory,
             Progress& progress)
      : plan_(plan),
        setting_(setting),
        directory_(directory),
        progress_(progress),
        crew_(setting.silence_limit, [this](const std::string& name, const ProgressMessage& m) {
          if (m.stage == "steps") return;  // the round is on show
          const std::string counted =
              m.step > 0 ? fmt::format(", step {} of {}", m.step, m.steps_count) : "";
          progress_.show(fmt::format("{}: {}{}", name, m.stage, counted));
        }) {}

  RunRecord run() {
    for (const StrategyPlan& strategy : plan_.strategies) {
      jobs_.push_back(
          {.plan = strategy, .members = {}, .input = {}, .files = {}, .visit_seconds = {}});
    }
    if (setting_.isolate) {
      for (Job& job : jobs_) {
        start(job);
        for (std::int64_t round = 0; round < plan_.rounds; ++round) visit(job, round);
        progress_.mark(title(job.plan) + ": measured");
        finish(job);
      }
    } else {
      for (Job& job : jobs_) start(job);
      for (std::int64_t round = 0; round < plan_.rounds; ++round) {
        for (const std::size_t i : turn_order(jobs_.size(), round)) visit(jobs_[i], round);
        progress_.mark(
            fmt::format("round {} of {} done{}", round + 1, plan_.rounds, estimate_text()));
      }
      for (Job& job : jobs_) finish(job);
    }
    return record();
  }

 private:
  // Starts the processes of a strategy and warms them up.
  void start(Job& job) {
    progress_.show(fmt::format("starting {}", title(job.plan)));
    job.input.key = job.plan.key;
    job.input.processes = job.plan.processes;
    job.input.devices = job.plan.devices;
    job.input.unrecorded_ms.emplace();
    job.input.recorded_ms.emplace();
    const std::int64_t begin_ns = setting_.now_ns();
    std::int32_t port = 0;
    for (std::int32_t rank = 0; rank < job.plan.processes; ++rank) {
      job.members.push_back(crew_.start(process_options(job, rank, port)));
      // The store of rank 0 listens on a port the system chose: no other program can take it.
      if (job.plan.key == "ddp" && rank == 0) {
        port = crew_.expect<PortMessage>(job.members).front().port;
      }
    }
    const ReadyMessage ready = crew_.expect<ReadyMessage>(job.members).front();
    job.input.global_batch = ready.workload.global_batch;
    workload_ = ready.workload;
    torch_version_ = ready.torch_version;
    const double seconds = static_cast<double>(setting_.now_ns() - begin_ns) / 1e9;
    progress_.say(fmt::format("{}: {} after {} warm-up steps ({})", title(job.plan),
                              job.plan.processes == 1
                                  ? std::string("a process is ready")
                                  : fmt::format("{} processes are ready", job.plan.processes),
                              plan_.warmup, duration_text(seconds)));
  }

  ProcessOptions process_options(Job& job, std::int32_t rank, std::int32_t port) {
    const std::string key = job.plan.key;
    job.files.traces.push_back(RunDirectory::trace(key, rank));
    job.files.logs.push_back(RunDirectory::log(key, rank));
    ProcessOptions options;
    options.name = key == "ddp" ? fmt::format("ddp rank {}", rank) : key;
    options.program = setting_.trainer;
    options.arguments = {"--strategy", key, "--trace",
                         directory_.file(job.files.traces.back()).string()};
    options.arguments.insert(options.arguments.end(), plan_.arguments.begin(),
                             plan_.arguments.end());
    if (plan_.fault && plan_.fault_rank.value_or(0) < job.plan.processes) {
      options.arguments.insert(options.arguments.end(), {"--fault", *plan_.fault});
    }
    options.log = directory_.file(job.files.logs.back());
    options.unset = launcher_variables();
    // PyTorch's warnings carry stack traces that bury the message that counts.
    options.environment = {{"TORCH_CPP_LOG_LEVEL", "ERROR"}};
    if (key == "ddp") options.environment.merge(rank_environment(rank, job.plan.processes, port));
    if (key != "single") {
      options.environment.insert(plan_.link_environment.begin(), plan_.link_environment.end());
    }
    return options;
  }

  // One turn: a pass without recording and one with, in alternating order.
  void visit(Job& job, std::int64_t round) {
    progress_.show(fmt::format("round {} of {}: {}{}", round + 1, plan_.rounds, title(job.plan),
                               estimate_text()));
    const std::int64_t begin_ns = setting_.now_ns();
    const bool recorded_first = round % 2 == 1;
    for (const bool record : {recorded_first, !recorded_first}) {
      const RunOrder order{.steps = record ? plan_.recorded_steps : plan_.steps,
                           .discarded = kDiscardedSteps,
                           .record = record,
                           .visit = static_cast<std::int32_t>(round)};
      crew_.send(job.members, order);
      std::vector<std::vector<std::int64_t>> ends;
      for (RanMessage& ran : crew_.expect<RanMessage>(job.members)) {
        ends.push_back(std::move(ran.step_ends_ns));
      }
      Rounds& rounds = record ? *job.input.recorded_ms : *job.input.unrecorded_ms;
      rounds.push_back(step_times_ms(ends));
    }
    job.visit_seconds.push_back(static_cast<double>(setting_.now_ns() - begin_ns) / 1e9);
  }

  // ", about 12 s left", once every strategy had a turn; empty when nothing is left.
  std::string estimate_text() const {
    double seconds = 0;
    for (const Job& job : jobs_) {
      if (job.visit_seconds.empty()) return "";
      const auto done = static_cast<double>(job.visit_seconds.size());
      const double sum = std::accumulate(job.visit_seconds.begin(), job.visit_seconds.end(), 0.0);
      seconds += sum / done * (static_cast<double>(plan_.rounds) - done);
    }
    return seconds > 0 ? ", about " + duration_text(seconds) + " left" : "";
  }

  void finish(Job& job) {
    progress_.show(fmt::format("{}: writing traces", title(job.plan)));
    crew_.send(job.members, FinishOrder{});
    const std::vector<DoneMessage> done = crew_.expect<DoneMessage>(job.members);
    crew_.await_exit(job.members);
    // Ranks have equal shares of the batch: the mean over ranks is the mean over the samples.
    LossFigures loss;
    for (const DoneMessage& rank : done) {
      // Losses of different steps would not compare.
      if (rank.steps_count != steps_of_each()) {
        throw std::logic_error(job.plan.key + " ran another number of steps");
      }
      if (!rank.first_loss || !rank.last_loss) return;
      loss.first += *rank.first_loss / static_cast<double>(done.size());
      loss.last += *rank.last_loss / static_cast<double>(done.size());
    }
    job.input.loss = loss;
  }

  // Optimizer steps of every process in the whole run.
  std::int64_t steps_of_each() const {
    return plan_.warmup + plan_.rounds * (plan_.steps + plan_.recorded_steps + 2 * kDiscardedSteps);
  }

  RunRecord record() {
    RunRecord record;
    record.input.workload = workload_;
    record.input.machine.torch = torch_version_;
    record.steps = plan_.steps;
    record.rounds = plan_.rounds;
    record.warmup = plan_.warmup;
    record.recorded_steps = plan_.recorded_steps;
    record.threads_per_device = plan_.threads;
    record.isolated = setting_.isolate;
    for (Job& job : jobs_) {
      record.input.strategies.push_back(std::move(job.input));
      record.files.push_back(std::move(job.files));
    }
    return record;
  }

  const ComparePlan& plan_;
  const TurnsSetting& setting_;
  const RunDirectory& directory_;
  Progress& progress_;
  Crew crew_;
  std::vector<Job> jobs_;
  WorkloadInfo workload_;
  std::string torch_version_;
};

// The error, and what to try where a GPU's memory was too small.
Error with_memory_hint(const Error& error, const ComparePlan& plan, bool isolated) {
  const bool is_memory = error.problem.find("out of memory") != std::string::npos;
  if (!plan.on_gpus || !is_memory) return error;
  const bool shared = !isolated && plan.strategies.size() > 1;
  std::string hint =
      shared ? "the strategies hold their memory at the same time: --isolate runs one after the "
               "other; or "
             : "";
  hint += fmt::format("take a smaller --batch (it is {})", plan.global_batch);
  return {error.subject, error.problem, hint + (error.hint.empty() ? "" : "; ") + error.hint};
}

}  // namespace

std::vector<double> step_times_ms(const std::vector<std::vector<std::int64_t>>& step_ends_ns) {
  if (step_ends_ns.empty() || step_ends_ns.front().size() < 2) {
    throw std::logic_error("step_times_ms: no step");
  }
  std::vector<double> times;
  std::int64_t previous = 0;
  for (std::size_t k = 0; k < step_ends_ns.front().size(); ++k) {
    std::int64_t last = step_ends_ns.front()[k];
    for (const auto& rank : step_ends_ns) last = std::max(last, rank.at(k));
    if (k > 0) times.push_back(static_cast<double>(last - previous) / 1e6);
    previous = last;
  }
  return times;
}

std::vector<std::size_t> turn_order(std::size_t strategies_count, std::int64_t round) {
  std::vector<std::size_t> order(strategies_count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (round % 2 == 1) std::ranges::reverse(order);
  return order;
}

RunRecord run_in_turns(const ComparePlan& plan, const TurnsSetting& setting,
                       const RunDirectory& directory, Progress& progress) {
  try {
    return Controller(plan, setting, directory, progress).run();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    throw with_memory_hint(error, plan, setting.isolate);
  }
}

}  // namespace ddpprof

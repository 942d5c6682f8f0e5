// The order in which trainers are started, run and ended, with bash scripts in their place.
#include "profiler/trace/error.h"
#include "tests/tools/script_folder.h"
#include "tools/compare/turns.h"

#include <algorithm>
#include <set>
#include <vector>

namespace ddpprof {
namespace {

// Speaks the trainers' side of the control protocol and writes what happens into `events`.
constexpr const char* kTrainer = R"(
while (($#)); do
  case $1 in
    --strategy) strategy=$2 ;;
    --trace) events=$(dirname "$2")/events ;;
    --control-fd) fd=$2 ;;
    --warmup) total=$2 ;;
  esac
  shift
done
say() { printf '%s\n' "$1" >&"$fd"; }
[[ $strategy != ddp || $RANK != 0 ]] || say '{"type": "port", "port": 1}'
echo "$strategy ${NCCL_P2P_DISABLE-unset}" >> "$(dirname "$events")/links"
trap 'echo "gone $strategy" >> "$events"' EXIT
echo "start $strategy" >> "$events"
if [[ $strategy == "$FAILING" ]]; then
  say '{"type": "error", "subject": "training", "problem": "CUDA out of memory. Tried to allocate 2.00 GiB", "hint": "", "is_usage": false}'
  exit 1
fi
say '{"type": "ready", "devices": [], "torch_version": "2.11.0", "workload": {"name": "w", "model": "m", "dtype": "fp32"}}'
while read -r line <&"$fd"; do
  if [[ $line == *finish* ]]; then
    say '{"type": "done", "steps_count": '$total'}'
    sleep 0.1
    exit 0
  fi
  [[ $line =~ \"steps\":\ ([0-9]+),\"discarded\":\ ([0-9]+) ]]
  total=$((total + BASH_REMATCH[1] + BASH_REMATCH[2]))
  ends=0
  for ((k = 1; k <= BASH_REMATCH[1]; ++k)); do ends+=,$((k * 1000000)); done
  echo "run $strategy" >> "$events"
  say '{"type": "ran", "step_ends_ns": ['$ends']}'
done
)";

class RunInTurns : public test::ScriptFolder {
 protected:
  static ComparePlan plan(const std::vector<std::string>& strategies) {
    ComparePlan plan;
    plan.on_gpus = true;
    plan.global_batch = 64;
    plan.steps = plan.recorded_steps = 3;
    plan.rounds = 2;
    plan.warmup = 2;
    plan.arguments = {"--warmup", "2"};
    for (const std::string& key : strategies) {
      plan.strategies.push_back({.key = key, .processes = 1, .devices = 2});
    }
    return plan;
  }

  RunRecord run(const ComparePlan& plan, bool isolate, const std::string& failing = "nobody") {
    const RunDirectory directory(folder_ / "run", false);
    Progress progress(stderr, false, true);
    const TurnsSetting setting{.trainer = script("trainer", "FAILING=" + failing + kTrainer),
                               .isolate = isolate,
                               .silence_limit = std::chrono::seconds(20),
                               .now_ns = [] { return std::int64_t{0}; }};
    return run_in_turns(plan, setting, directory, progress);
  }

  std::vector<std::string> events() const {
    std::ifstream file(folder_ / "run" / "traces" / "events");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  // The hint of the error.
  std::string failure(const ComparePlan& plan, bool isolate) {
    try {
      run(plan, isolate, "dp");
    } catch (const Error& error) {
      EXPECT_NE(error.problem.find("CUDA out of memory"), std::string::npos) << error.problem;
      return error.hint;
    }
    return "no failure";
  }
};

using Events = std::vector<std::string>;

TEST_F(RunInTurns, WhoHasALinkIsToldWhichToTake) {
  ComparePlan linked = plan({"single", "dp", "ddp"});
  linked.strategies.back().processes = 2;
  linked.link_environment = {{"NCCL_P2P_DISABLE", "1"}};
  run(linked, true);
  std::ifstream file(folder_ / "run" / "traces" / "links");
  std::multiset<std::string> seen;
  for (std::string line; std::getline(file, line);) seen.insert(line);
  EXPECT_EQ(seen, (std::multiset<std::string>{"single unset", "dp 1", "ddp 1", "ddp 1"}));
}

TEST_F(RunInTurns, AllAreStartedBeforeTheFirstTurn) {
  const RunRecord record = run(plan({"single", "dp"}), false);
  Events seen = events();
  ASSERT_EQ(seen.size(), 12u);
  std::sort(seen.end() - 2, seen.end());
  EXPECT_EQ(seen,
            (Events{"start single", "start dp", "run single", "run single", "run dp", "run dp",
                    "run dp", "run dp", "run single", "run single", "gone dp", "gone single"}));
  EXPECT_FALSE(record.isolated);
  ASSERT_EQ(record.input.strategies.size(), 2u);
  EXPECT_EQ(record.input.strategies[0].unrecorded_ms->size(), 2u);
}

TEST_F(RunInTurns, IsolatedOneIsGoneBeforeTheNextIsStarted) {
  const RunRecord record = run(plan({"single", "dp", "ddp"}), true);
  Events expected;
  for (const std::string key : {"single", "dp", "ddp"}) {
    expected.push_back("start " + key);
    for (int i = 0; i < 4; ++i) expected.push_back("run " + key);
    expected.push_back("gone " + key);
  }
  EXPECT_EQ(events(), expected);
  EXPECT_TRUE(record.isolated);
}

TEST_F(RunInTurns, OutOfMemoryHintsAtIsolation) {
  const std::string hint = failure(plan({"single", "dp"}), false);
  EXPECT_NE(hint.find("--isolate runs one after the other; or take a smaller --batch (it is 64)"),
            std::string::npos)
      << hint;
  EXPECT_NE(hint.find("its whole log: "), std::string::npos) << hint;
}

TEST_F(RunInTurns, OutOfMemoryOfOneAloneHintsAtTheBatch) {
  for (const std::string& hint : {failure(plan({"dp"}), false), [this] {
                                    std::filesystem::remove_all(folder_ / "run");
                                    return failure(plan({"single", "dp"}), true);
                                  }()}) {
    EXPECT_EQ(hint.find("--isolate"), std::string::npos) << hint;
    EXPECT_NE(hint.find("take a smaller --batch"), std::string::npos) << hint;
  }
}

TEST_F(RunInTurns, OutOfMemoryOnACpuIsNoMatterOfGpus) {
  ComparePlan on_cpu = plan({"single", "dp"});
  on_cpu.on_gpus = false;
  EXPECT_EQ(failure(on_cpu, false).find("--isolate"), std::string::npos);
}

}  // namespace
}  // namespace ddpprof

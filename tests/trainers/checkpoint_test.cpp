// A run that goes on from a checkpoint is the run that was never interrupted.
#include "profiler/formats/file.h"
#include "tests/trainers/safetensors_file.h"
#include "tests/trainers/trainer_process.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

Arguments joined(Arguments first, const Arguments& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// A flag that both have is the second's.
Arguments overridden(Arguments first, const Arguments& second) {
  for (std::size_t i = 0; i < second.size(); i += 2) {
    const auto at = std::ranges::find(first, second[i]);
    if (at != first.end()) first.erase(at, at + 2);
  }
  return joined(std::move(first), second);
}

constexpr int kSteps = 8;

// With all that has a state: dropout, AdamW, a schedule, a loss scale that grows.
const Arguments kTraining = {"--workload",
                             "bert-base",
                             "--layers",
                             "1",
                             "--width",
                             "64",
                             "--seq",
                             "16",
                             "--vocab",
                             "500",
                             "--dropout",
                             "0.1",
                             "--batch",
                             "24",
                             "--threads",
                             "1",
                             "--micro-steps",
                             "2",
                             "--clip-norm",
                             "1",
                             "--schedule",
                             "cosine",
                             "--lr-warmup",
                             "2",
                             "--schedule-steps",
                             "8",
                             "--loss-scale",
                             "dynamic",
                             "--loss-scale-growth",
                             "3"};

class Checkpoint : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return folder_.path() / name; }

  // Exit codes of all ranks.
  static std::vector<int> run(const std::string& strategy, int devices, const Arguments& more) {
    const Arguments arguments = overridden(kTraining, more);
    if (strategy == "ddp") return run_ranks(devices, arguments);
    TrainerProcess process(
        joined(arguments, {"--strategy", strategy, "--workers", std::to_string(devices)}));
    return {process.wait().value_or(-1)};
  }

  // Parameters after the last step, of all ranks; raw.
  std::vector<std::string> train(const std::string& strategy, int devices, const Arguments& more) {
    const fs::path dump = file("dump" + std::to_string(dumps_count_++));
    const std::vector<int> codes = run(strategy, devices, joined(more, {"--gradients", dump}));
    EXPECT_EQ(std::ranges::count(codes, 0), static_cast<std::ptrdiff_t>(codes.size()));
    std::vector<std::string> result;
    for (std::size_t rank = 0; rank < codes.size(); ++rank) {
      result.push_back(read_file(dump / ("param_" + std::to_string(kSteps - 1) + "_rank" +
                                         std::to_string(rank) + ".f64")));
    }
    return result;
  }

  // What a trainer that resumes says, and its exit code.
  static std::pair<int, std::string> refusal(const fs::path& checkpoint,
                                             const Arguments& more = {}) {
    TrainerProcess process(
        joined(overridden(kTraining, more), {"--steps", "8", "--resume", checkpoint}));
    const int code = process.wait().value_or(-1);
    return {code, process.error()};
  }

  TemporaryFolder folder_;
  int dumps_count_ = 0;
};

TEST_F(Checkpoint, GoesOnBitForBit) {
  for (const auto& [strategy, devices] :
       {std::pair("single", 1), {"ddp", 1}, {"ddp", 2}, {"ddp", 3}, {"ddp", 4}}) {
    SCOPED_TRACE(std::string(strategy) + " on " + std::to_string(devices));
    const fs::path saved = file("c.safetensors");
    const auto whole = train(strategy, devices, {"--steps", "8"});
    EXPECT_EQ(std::ranges::count(whole, whole.front()), devices);
    ASSERT_EQ(run(strategy, devices, {"--steps", "5", "--checkpoint", saved}),
              std::vector<int>(static_cast<std::size_t>(devices), 0));
    EXPECT_TRUE(train(strategy, devices, {"--steps", "8", "--resume", saved}) == whole);
    EXPECT_FALSE(train(strategy, devices, {"--steps", "8", "--seed", "7"}) == whole);
  }
}

TEST_F(Checkpoint, OfAKilledWriterIsTheOneBefore) {
  const fs::path saved = file("c.safetensors");
  const auto whole = train("single", 1, {"--steps", "8"});
  const Arguments writes = {"--steps", "8", "--checkpoint", saved, "--checkpoint-every", "3"};
  EXPECT_EQ(run("single", 1, joined(writes, {"--fault", "die-in-checkpoint"})),
            std::vector<int>{128 + 9});
  EXPECT_NE(read_file(saved).find("\"step\": \"3\""), std::string::npos);
  EXPECT_TRUE(train("single", 1, joined(writes, {"--resume", saved})) == whole);
  EXPECT_NE(read_file(saved).find("\"step\": \"8\""), std::string::npos) << "written at the end";
}

TEST_F(Checkpoint, OfOtherDevicesGoesOnWithDropoutDrawnAnew) {
  const fs::path saved = file("c.safetensors");
  ASSERT_EQ(run("ddp", 2, {"--steps", "5", "--checkpoint", saved}), (std::vector<int>{0, 0}));
  const auto [code, said] = refusal(saved);
  EXPECT_EQ(code, 0) << said;
  EXPECT_NE(said.find("goes on after step 5"), std::string::npos) << said;
  EXPECT_NE(said.find("drawn anew"), std::string::npos) << said;
}

TEST_F(Checkpoint, OfAnotherRunIsRefusedWithTheFlagToGive) {
  const fs::path saved = file("c.safetensors");
  ASSERT_EQ(run("single", 1, {"--steps", "1", "--checkpoint", saved}), std::vector<int>{0});
  for (const auto& [more, hint] :
       {std::pair<Arguments, std::string>{{"--batch", "48"}, "--batch 24"},
        {{"--seed", "9"}, "--seed 0"},
        {{"--layers", "2"}, "start anew"},
        {{"--optimizer", "fused-sgd"}, "AdamW"}}) {
    const auto [code, said] = refusal(saved, more);
    EXPECT_EQ(code, 2) << said;
    EXPECT_NE(said.find(hint), std::string::npos) << said;
  }
}

TEST_F(Checkpoint, ThatIsDamagedOrForeignIsRefused) {
  const fs::path saved = file("c.safetensors"), damaged = file("d.safetensors");
  ASSERT_EQ(run("single", 1, {"--steps", "1", "--checkpoint", saved}), std::vector<int>{0});
  const std::string whole = read_file(saved);
  const auto expect_refused = [&](const std::string& content, const std::string& why) {
    write_file(damaged, content);
    const auto [code, said] = refusal(damaged);
    EXPECT_EQ(code, 1) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
    EXPECT_NE(said.find("hint: "), std::string::npos) << said;
  };
  std::string flipped = whole;
  flipped[whole.size() - 10'000] ^= 1;
  expect_refused(flipped, "is damaged");
  std::string other_step = whole;
  other_step.replace(whole.find("\"step\": \"1\""), 11, "\"step\": \"2\"");
  expect_refused(other_step, "is damaged");
  expect_refused(whole.substr(0, whole.size() - 100), "cut short");
  expect_refused("not a checkpoint at all", "safetensors");
  expect_refused(safetensors_file({{"images", "F32", "[1]", bytes_of<float>({0})}}),
                 "is no checkpoint of ddpprof");
  EXPECT_EQ(refusal(file("none")).first, 1);
}

TEST_F(Checkpoint, ThatCannotBeWrittenIsNoticedBeforeTheFirstStep) {
  for (const fs::path& place : {file("none") / "c.safetensors", folder_.path()}) {
    const fs::path metrics = file("m.jsonl");
    TrainerProcess process(
        joined(kTraining, {"--steps", "8", "--checkpoint", place, "--metrics", metrics}));
    EXPECT_EQ(process.wait(), 1);
    EXPECT_NE(process.error().find(place.string()), std::string::npos) << process.error();
    EXPECT_FALSE(fs::exists(metrics)) << "nothing was begun";
  }
}

TEST_F(Checkpoint, AtTheEndOfTheRunSaysThatNothingIsLeft) {
  const fs::path saved = file("c.safetensors");
  ASSERT_EQ(run("single", 1, {"--steps", "8", "--checkpoint", saved}), std::vector<int>{0});
  const auto [code, said] = refusal(saved);
  EXPECT_EQ(code, 0) << said;
  EXPECT_NE(said.find("nothing is left to train"), std::string::npos) << said;
}

TEST_F(Checkpoint, KeepsTheMetricsOfTheStepsBefore) {
  const fs::path saved = file("c.safetensors"), metrics = file("m.jsonl"), once = file("n.jsonl");
  ASSERT_EQ(run("single", 1, {"--steps", "8", "--metrics", once}), std::vector<int>{0});
  // Died after step 6, saved after step 3: lines 4 to 6 are written again.
  ASSERT_EQ(run("single", 1,
                {"--steps", "8", "--checkpoint", saved, "--checkpoint-every", "3", "--fault",
                 "die-in-checkpoint", "--metrics", metrics}),
            std::vector<int>{128 + 9});
  write_file(metrics, read_file(once).substr(0, read_file(once).find("{\"step\": 7")) + "{\"st");
  ASSERT_EQ(run("single", 1, {"--steps", "8", "--resume", saved, "--metrics", metrics}),
            std::vector<int>{0});
  EXPECT_EQ(read_file(metrics), read_file(once));
}

}  // namespace
}  // namespace ddpprof::test

// A trainer under orders.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "tests/trainers/trainer_process.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace ddpprof::test {
namespace {

using namespace std::chrono_literals;

template <typename T>
T expect_news(TrainerProcess& process) {
  const std::optional<Message> message = process.receive_news();
  if (!message || !std::holds_alternative<T>(*message)) {
    const auto* error = message ? std::get_if<ErrorMessage>(&*message) : nullptr;
    ADD_FAILURE() << "another message, or none; "
                  << (error ? error->subject + ": " + error->problem : process.error());
    return {};
  }
  return std::get<T>(*message);
}

// User and system time of all threads, in clock ticks (10 ms).
long cpu_ticks(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) {
    fields >> skipped;
  }
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return user + system;
}

// Threads look for work a while before they sleep, longer on a busy machine; one that never sleeps
// takes 50 ticks in each of the windows.
void expect_asleep(pid_t pid) {
  constexpr int kWindows = 10;
  long ticks = 0;
  for (int window = 0; window < kWindows; ++window) {
    const long before = cpu_ticks(pid);
    std::this_thread::sleep_for(500ms);
    ticks = cpu_ticks(pid) - before;
    if (ticks <= 1) {
      return;
    }
  }
  ADD_FAILURE() << ticks << " ticks in the last 500 ms";
}

TEST(Control, RunsOrdersAndWritesTheTrace) {
  TemporaryFolder folder;
  const auto path = folder.path() / "single.json.gz";
  TrainerProcess process({"--warmup", "3", "--batch", "8", "--trace", path.string()}, {}, true);
  const auto ready = expect_news<ReadyMessage>(process);
  EXPECT_EQ(ready.workload.name, "digits-mlp");
  EXPECT_EQ(ready.workload.model, "mlp 64-256-256-10");
  EXPECT_EQ(ready.workload.dtype, "fp32");
  EXPECT_EQ(ready.workload.global_batch, 8);
  EXPECT_EQ(ready.workload.parameters_count, 64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
  EXPECT_EQ(ready.devices.size(), 1U);
  EXPECT_EQ(ready.torch_version.substr(0, 4), "2.11");

  process.send(RunOrder{.steps = 5, .discarded = 2, .record = false, .visit = 0});
  const auto plain = expect_news<RanMessage>(process);
  ASSERT_EQ(plain.step_ends_ns.size(), 6U);
  EXPECT_TRUE(std::ranges::is_sorted(plain.step_ends_ns));

  process.send(RunOrder{.steps = 4, .discarded = 2, .record = true, .visit = 3});
  const auto recorded = expect_news<RanMessage>(process);
  ASSERT_EQ(recorded.step_ends_ns.size(), 5U);

  process.send(FinishOrder{});
  const auto done = expect_news<DoneMessage>(process);
  EXPECT_EQ(done.steps_count, 3 + 7 + 6);
  ASSERT_TRUE(done.first_loss && done.last_loss);
  EXPECT_LT(*done.last_loss, *done.first_loss);
  EXPECT_EQ(process.wait(), 0) << process.error();

  const Trace trace = read_native(read_file(path), "trace");
  ASSERT_EQ(trace.steps.size(), 4U) << "only recorded steps";
  EXPECT_EQ(trace.steps[0].index, 3 + 7 + 2);
  EXPECT_EQ(trace.steps[0].visit, 3);
  EXPECT_GE(trace.steps[0].span.begin_ns, recorded.step_ends_ns.front());
  EXPECT_LE(trace.steps[3].span.end_ns, recorded.step_ends_ns.back());
  EXPECT_EQ(trace.info.workload, ready.workload);
}

TEST(Control, SpeaksOfProgressAtMostFiveTimesASecond) {
  TrainerProcess process({"--warmup", "400", "--batch", "8", "--threads", "1"}, {}, true);
  const auto begin = std::chrono::steady_clock::now();
  int count = 0;
  std::optional<Message> message = process.receive();
  while (message && std::holds_alternative<ProgressMessage>(*message)) {
    ++count;
    message = process.receive();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(message && std::holds_alternative<ReadyMessage>(*message));
  EXPECT_GE(count, 1);
  EXPECT_LE(count, 2 + 5 * seconds.count());
}

TEST(Control, SleepsBetweenOrders) {
  TrainerProcess process({"--strategy", "dp", "--threads", "2", "--batch", "8"}, {}, true);
  expect_news<ReadyMessage>(process);
  expect_asleep(process.pid());
  process.send(RunOrder{.steps = 5, .discarded = 0, .record = false, .visit = 0});
  expect_news<RanMessage>(process);
  expect_asleep(process.pid());
}

TEST(Control, DdpTellsItsPortAndSleepsBetweenOrders) {
  TemporaryFolder folder;
  const Arguments arguments = {"--strategy", "ddp", "--warmup", "2", "--batch", "8"};
  TrainerProcess rank0(arguments, rank_environment(0, 2, 0), true);
  const auto port = expect_news<PortMessage>(rank0);
  ASSERT_GT(port.port, 0);
  TrainerProcess rank1(arguments, rank_environment(1, 2, port.port), true);
  expect_news<ReadyMessage>(rank0);
  expect_news<ReadyMessage>(rank1);
  expect_asleep(rank0.pid());
  for (const bool record : {false, true}) {
    const RunOrder order{.steps = 3, .discarded = 1, .record = record, .visit = 0};
    rank0.send(order);
    rank1.send(order);
    EXPECT_EQ(expect_news<RanMessage>(rank0).step_ends_ns.size(), 4U);
    EXPECT_EQ(expect_news<RanMessage>(rank1).step_ends_ns.size(), 4U);
  }
  rank0.send(FinishOrder{});
  rank1.send(FinishOrder{});
  expect_news<DoneMessage>(rank0);
  expect_news<DoneMessage>(rank1);
  EXPECT_EQ(rank0.wait(), 0) << rank0.error();
  EXPECT_EQ(rank1.wait(), 0) << rank1.error();
}

TEST(Control, LeavesQuietlyWhenTheControllerIsGone) {
  TrainerProcess process({"--warmup", "1", "--batch", "8"}, {}, true);
  expect_news<ReadyMessage>(process);
  process.hang_up();
  EXPECT_EQ(process.wait(), 1);
  EXPECT_EQ(process.error(), "");
}

TEST(Control, SendsErrorsToo) {
  TrainerProcess process({"--batch", "63", "--micro-steps", "2"}, {}, true);
  const auto error = expect_news<ErrorMessage>(process);
  EXPECT_EQ(error.subject, "--batch 63");
  EXPECT_NE(error.hint, "");
  EXPECT_TRUE(error.is_usage);
  EXPECT_EQ(process.wait(), 2);
}

TEST(Control, AnOrderThatIsNoneIsAnError) {
  TrainerProcess process({"--warmup", "1", "--batch", "8"}, {}, true);
  expect_news<ReadyMessage>(process);
  process.send_text("{\"type\": \"dance\"}\n");
  EXPECT_FALSE(expect_news<ErrorMessage>(process).is_usage);
  EXPECT_EQ(process.wait(), 1);
}

}  // namespace
}  // namespace ddpprof::test

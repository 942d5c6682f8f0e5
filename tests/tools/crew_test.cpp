// The launcher with bash scripts in the trainers' place: "$say" writes a line to the control
// socket.
#include "tools/launcher/crew.h"

#include "profiler/trace/error.h"
#include "tests/tools/program.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class CrewTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("crew_{}_{}", getpid(), marker());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string marker() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  ProcessOptions script(const std::string& name, const std::string& body) {
    const std::string start = "marker=" + marker() + "_" + std::to_string(getpid()) +
                              "; say() { printf '%s' \"$1\" >&\"$2\"; }; fd=$2; ";
    return {.name = name,
            .program = "/bin/bash",
            .arguments = {"-c", start + body, "trainer"},
            .environment = {},
            .unset = {},
            .log = folder_ / (name + ".log")};
  }

  static std::string say(const Message& message) {
    std::string line = to_line(message);
    line.pop_back();
    return "printf '%s\\n' '" + line + "' >&$fd; ";
  }

  // What a crew throws while it waits for a port from each of its processes.
  template <typename E>
  std::string failure(const std::vector<ProcessOptions>& all,
                      milliseconds limit = milliseconds(5000)) {
    try {
      Crew crew(limit, [](const std::string&, const ProgressMessage&) {});
      std::vector<std::size_t> members;
      for (const ProcessOptions& options : all) members.push_back(crew.start(options));
      crew.expect<PortMessage>(members);
    } catch (const E& error) {
      return error.subject + ": " + error.problem + " | " + error.hint;
    }
    return "no failure";
  }

  int left_over() const {
    return test::processes_with("marker=" + marker() + "_" + std::to_string(getpid()));
  }

  fs::path folder_;
};

TEST_F(CrewTest, AnswersComeInTheOrderAsked) {
  std::vector<std::string> heard;
  Crew crew(milliseconds(5000), [&](const std::string& name, const ProgressMessage& m) {
    heard.push_back(name + m.stage);
  });
  const auto slow =
      crew.start(script("slow", "sleep 0.3; " + say(PortMessage{1}) + "read x <&$fd"));
  const auto fast = crew.start(
      script("fast", say(ProgressMessage{"warm-up", 1, 2}) + say(PortMessage{2}) + "read x <&$fd"));
  const auto ports = crew.expect<PortMessage>({slow, fast});
  EXPECT_EQ(ports[0].port, 1);
  EXPECT_EQ(ports[1].port, 2);
  EXPECT_EQ(heard, std::vector<std::string>{"fastwarm-up"});
}

TEST_F(CrewTest, OrdersReachTheProcess) {
  Crew crew(milliseconds(5000), [](const std::string&, const ProgressMessage&) {});
  const auto one = crew.start(
      script("one", "read -r line <&$fd; [ -n \"$line\" ] && " + say(PortMessage{7}) + "exit 0"));
  crew.send({one}, FinishOrder{});
  EXPECT_EQ(crew.expect<PortMessage>({one}).front().port, 7);
  crew.await_exit({one});
}

TEST_F(CrewTest, ADeathIsNamedWithSignalStageAndLog) {
  const std::string text = failure<Error>(
      {script("ddp rank 1", "echo loading; echo 'about to die'; " +
                                say(ProgressMessage{"warm-up", 2, 20}) + "sleep 0.2; kill -9 $$")});
  EXPECT_NE(text.find("ddp rank 1: killed by signal 9"), std::string::npos) << text;
  EXPECT_NE(text.find("in warm-up, step 2 of 20"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  | about to die"), std::string::npos) << text;
  EXPECT_NE(text.find("ddp rank 1.log"), std::string::npos) << text;
  EXPECT_EQ(left_over(), 0);
}

TEST_F(CrewTest, ADeathOutranksTheErrorsItCausesElsewhere) {
  const std::string text = failure<Error>(
      {script("rank 0", say(ErrorMessage{"all-reduce", "connection reset", "", false}) + "exit 1"),
       script("rank 1", "sleep 0.2; kill -9 $$")});
  EXPECT_NE(text.find("rank 1: killed by signal 9"), std::string::npos) << text;
  EXPECT_EQ(left_over(), 0);
}

TEST_F(CrewTest, AReportedErrorKeepsItsWords) {
  const std::string text = failure<Error>({script(
      "rank 0",
      say(ErrorMessage{"MASTER_PORT 29500", "is in use", "choose another", false}) + "exit 1")});
  EXPECT_NE(text.find("rank 0: MASTER_PORT 29500: is in use | choose another"), std::string::npos)
      << text;
}

TEST_F(CrewTest, WrongUsageStaysWrongUsage) {
  const std::string text = failure<UsageError>({script(
      "single", say(ErrorMessage{"--width 200", "does not divide", "use 192", true}) + "exit 2")});
  EXPECT_EQ(text, "--width 200: does not divide | use 192");
}

TEST_F(CrewTest, SilenceCountsAsHungAndLeavesNobody) {
  const std::string text =
      failure<Error>({script("rank 0", "echo waiting for rank 1; sleep 100"),
                      script("rank 1", "trap '' TERM; echo stuck; sleep 100; sleep 100")},
                     milliseconds(400));
  EXPECT_NE(text.find("rank 0, rank 1: no sign of life for 0.4 s"), std::string::npos) << text;
  EXPECT_NE(text.find("| stuck"), std::string::npos) << text;
  EXPECT_EQ(left_over(), 0);
}

TEST_F(CrewTest, ABystanderThatDiesIsNoticed) {
  Crew crew(milliseconds(5000), [](const std::string&, const ProgressMessage&) {});
  const auto waiting = crew.start(script("waiting", "sleep 100"));
  crew.start(script("bystander", "exit 3"));
  try {
    crew.expect<PortMessage>({waiting});
    FAIL() << "no failure";
  } catch (const Error& error) {
    EXPECT_EQ(error.subject, "bystander");
    EXPECT_NE(error.problem.find("exit code 3"), std::string::npos) << error.problem;
  }
}

TEST_F(CrewTest, WhoHasAnsweredMayLeaveBeforeTheOthersAnswer) {
  Crew crew(milliseconds(5000), [](const std::string&, const ProgressMessage&) {});
  const auto slow = crew.start(
      script("slow", "read -r x <&$fd; sleep 0.6; " + say(DoneMessage{3, {}, {}}) + "exit 0"));
  const auto fast =
      crew.start(script("fast", "read -r x <&$fd; " + say(DoneMessage{3, {}, {}}) + "exit 0"));
  crew.send({slow, fast}, FinishOrder{});
  EXPECT_EQ(crew.expect<DoneMessage>({slow, fast}).size(), 2u);
  crew.await_exit({slow, fast});
}

TEST_F(CrewTest, AMissingProgramIsAnError) {
  ProcessOptions options = script("single", "");
  options.program = folder_ / "ddpprof-train";
  EXPECT_THROW(Process{options}, Error);
}

TEST_F(CrewTest, TheChildSeesNoDescriptorOfOurs) {
  const int secret = open((folder_ / "secret").c_str(), O_RDWR | O_CREAT, 0600);  // no O_CLOEXEC
  Crew crew(milliseconds(5000), [](const std::string&, const ProgressMessage&) {});
  crew.start(script("first", "sleep 100"));
  const auto second =
      crew.start(script("second", "ls -l /proc/$$/fd; " + say(PortMessage{1}) + "read x <&$fd"));
  crew.expect<PortMessage>({second});
  std::ifstream log(folder_ / "second.log");
  int sockets = 0;
  for (std::string line; std::getline(log, line);) {
    if (line.find("socket:") != std::string::npos) ++sockets;
    EXPECT_EQ(line.find("secret"), std::string::npos) << line;
  }
  EXPECT_EQ(sockets, 1);
  close(secret);
}

}  // namespace
}  // namespace ddpprof

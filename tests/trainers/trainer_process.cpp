#include "tests/trainers/trainer_process.h"

#include "tests/tools/program.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddpprof::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kChildControl = 3;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Clock::time_point deadline_in(double seconds) {
  return Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
}

[[noreturn]] void become_trainer(const Arguments& arguments, const Environment& environment,
                                 const std::filesystem::path& folder, int control) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
                           "LOCAL_WORLD_SIZE", "TORCHELASTIC_USE_AGENT_STORE"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  const int out = ::open((folder / "out").c_str(), O_CREAT | O_WRONLY, 0600);
  const int err = ::open((folder / "err").c_str(), O_CREAT | O_WRONLY, 0600);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  if (control >= 0) {
    ::dup2(control, kChildControl);
  }
  std::string program = program_path("DDPPROF_TRAIN_PROGRAM", DDPPROF_TRAIN_PROGRAM);
  std::vector<char*> pointers = {program.data()};
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  ::_exit(127);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "ddpprof-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("no temporary folder");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TrainerProcess::TrainerProcess(Arguments arguments, const Environment& environment,
                               bool with_control) {
  int ends[2] = {-1, -1};
  if (with_control) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw std::runtime_error("no socket pair");
    }
    arguments.push_back("--control-fd");
    arguments.push_back(std::to_string(kChildControl));
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    become_trainer(arguments, environment, folder_.path(), ends[1]);
  }
  if (with_control) {
    ::close(ends[1]);
    control_ = ends[0];
  }
}

TrainerProcess::~TrainerProcess() {
  hang_up();
  if (!code_ && pid_ > 0) {  // kill(-1) would end everything
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

std::optional<int> TrainerProcess::wait(double timeout_s) {
  const auto deadline = deadline_in(timeout_s);
  while (!code_ && Clock::now() < deadline) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    } else {
      std::this_thread::sleep_for(5ms);
    }
  }
  return code_;
}

std::string TrainerProcess::output() const { return read_text(folder_.path() / "out"); }
std::string TrainerProcess::error() const { return read_text(folder_.path() / "err"); }

void TrainerProcess::send_text(const std::string& line) const {
  if (::send(control_, line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("the trainer does not listen");
  }
}

std::optional<Message> TrainerProcess::receive(double timeout_s) {
  const auto deadline = deadline_in(timeout_s);
  while (unread_.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waiting{.fd = control_, .events = POLLIN, .revents = 0};
    if (left <= 0ms || ::poll(&waiting, 1, static_cast<int>(left.count())) <= 0) {
      return {};
    }
    char buffer[4096];
    const ssize_t got = ::read(control_, buffer, sizeof buffer);
    if (got <= 0) {
      return {};
    }
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
  const auto end = unread_.find('\n') + 1;
  const std::string line = unread_.substr(0, end);
  unread_.erase(0, end);
  return parse_message(line);
}

std::optional<Message> TrainerProcess::receive_news(double timeout_s) {
  while (true) {
    std::optional<Message> message = receive(timeout_s);
    if (!message || !std::holds_alternative<ProgressMessage>(*message)) {
      return message;
    }
  }
}

void TrainerProcess::hang_up() {
  if (control_ >= 0) {
    ::close(control_);
    control_ = -1;
  }
}

std::int32_t free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

Environment rank_environment(int rank, int world_size, std::int32_t port) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(world_size)},
          {"LOCAL_RANK", std::to_string(rank)},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", std::to_string(port)}};
}

std::vector<int> run_ranks(int world_size, const Arguments& arguments) {
  const std::int32_t port = free_port();
  Arguments all = {"--strategy", "ddp"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<std::unique_ptr<TrainerProcess>> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.push_back(
        std::make_unique<TrainerProcess>(all, rank_environment(rank, world_size, port)));
  }
  std::vector<int> codes;
  for (const auto& rank : ranks) {
    codes.push_back(rank->wait().value_or(-1));
  }
  return codes;
}

}  // namespace ddpprof::test

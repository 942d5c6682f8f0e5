#include "tests/tools/program.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddpprof::test {
namespace {

// Appends what is there; false at the end.
bool drain(int descriptor, std::string& text) {
  char buffer[4096];
  const ssize_t got = read(descriptor, buffer, sizeof buffer);
  if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  return got > 0;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& command,
                    const std::vector<std::string>& environment) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe");
  }
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    for (const std::string& entry : environment) putenv(const_cast<char*>(entry.c_str()));
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execvp(argv[0], argv.data());
    _exit(126);
  }
  close(out[1]);
  close(err[1]);
  Outcome outcome;
  pollfd both[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&outcome.out, &outcome.err};
  for (int open_count = 2; open_count > 0;) {
    poll(both, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (both[i].fd < 0 || both[i].revents == 0 || drain(both[i].fd, *texts[i])) continue;
      close(both[i].fd);
      both[i].fd = -1;
      --open_count;
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  outcome.seconds = took.count();
  return outcome;
}

std::string program_path(const char* variable, const char* built) {
  const char* const named = std::getenv(variable);
  return named != nullptr && *named != '\0' ? named : built;
}

int processes_with(const std::string& text) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::stringstream line;
    line << file.rdbuf();
    if (line.str().find(text) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace ddpprof::test

#include "profiler/record/thread_names.h"

#include <fstream>

#include <sys/syscall.h>
#include <unistd.h>

namespace ddpprof {
namespace {

// Empty when there is no such thread.
std::string read_name(std::uint32_t system_id) {
  std::ifstream file("/proc/self/task/" + std::to_string(system_id) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

}  // namespace

std::uint32_t this_thread_id() noexcept { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

std::string name_of_thread(std::uint32_t system_id) {
  std::string name = read_name(system_id);
  if (name.empty() || name == read_name(static_cast<std::uint32_t>(getpid()))) {
    name = "thread " + std::to_string(system_id);
  }
  return name;
}

}  // namespace ddpprof

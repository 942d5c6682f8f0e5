#include "tools/machine.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <thread>

#include <sched.h>
#include <unistd.h>

namespace ddpprof {
namespace {

std::string formatted(std::int64_t unix_seconds, const char* format) {
  const auto seconds = static_cast<std::time_t>(unix_seconds);
  std::tm parts = {};
  localtime_r(&seconds, &parts);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, format, &parts);
  return {text, length};
}

}  // namespace

std::int64_t usable_cpu_count() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t value = line.find(": ");
    if (value != std::string::npos) return line.substr(value + 2);
  }
  return "CPU";
}

std::int64_t memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page_bytes > 0 ? std::int64_t{pages} * page_bytes : 0;
}

std::int64_t count_gpus(const std::filesystem::path& driver_folder) {
  std::error_code ignored;
  const std::filesystem::directory_iterator folder(driver_folder, ignored);
  return std::distance(begin(folder), end(folder));
}

std::string iso_time(std::int64_t unix_seconds) {
  return formatted(unix_seconds, "%Y-%m-%dT%H:%M:%S%z");
}

std::string file_time(std::int64_t unix_seconds) {
  return formatted(unix_seconds, "%Y%m%d-%H%M%S");
}

}  // namespace ddpprof

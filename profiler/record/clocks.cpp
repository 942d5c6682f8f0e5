#include "profiler/record/clocks.h"

#include "profiler/record/recorder.h"

#include <array>
#include <cstdio>
#include <limits>

#include <time.h>
#include <unistd.h>

namespace ddpprof {
namespace {

std::int64_t read_clock_ns(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t now_ns() noexcept { return read_clock_ns(CLOCK_MONOTONIC); }

std::int64_t thread_cpu_ns() noexcept { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

ClockPair read_clock_pair() noexcept {
  ClockPair best;
  std::int64_t best_width_ns = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 3; ++i) {
    const std::int64_t before_ns = now_ns();
    const std::int64_t real_ns = read_clock_ns(CLOCK_REALTIME);
    const std::int64_t width_ns = now_ns() - before_ns;
    if (width_ns < best_width_ns) {
      best = {before_ns + width_ns / 2, real_ns};
      best_width_ns = width_ns;
    }
  }
  return best;
}

std::string boot_id() {
  std::FILE* const file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
  if (file == nullptr) return {};
  std::array<char, 64> text{};
  const std::size_t length = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  std::string id(text.data(), length);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace ddpprof

#include "tools/print.h"

#include "profiler/trace/error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ddpprof {

void print_result(std::string_view text) {
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!is_whole || std::fflush(stdout) != 0) {
    throw Error("standard output", std::string("cannot be written: ") + std::strerror(errno));
  }
}

}  // namespace ddpprof

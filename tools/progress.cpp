#include "tools/progress.h"

namespace ddpprof {
namespace {

constexpr std::size_t kColumns = 79;

}  // namespace

Progress::Progress(std::FILE* stream, bool is_terminal, bool quiet)
    : stream_(stream), is_terminal_(is_terminal), quiet_(quiet) {}

Progress::~Progress() { erase(); }

void Progress::erase() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stream_);  // to the line's begin, and clear it
  std::fflush(stream_);
  shown_ = false;
}

void Progress::say(const std::string& text) {
  if (quiet_) return;
  erase();
  std::fprintf(stream_, "%s\n", text.c_str());
  std::fflush(stream_);
}

void Progress::mark(const std::string& text) {
  if (!is_terminal_) say(text);
}

void Progress::show(const std::string& text) {
  if (quiet_ || !is_terminal_) return;
  erase();
  // A line that wraps cannot be erased by one carriage return.
  std::fputs(text.substr(0, kColumns).c_str(), stream_);
  std::fflush(stream_);
  shown_ = true;
}

}  // namespace ddpprof

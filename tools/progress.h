// What runs now and how long it will take, for a person who waits.
#pragma once

#include <cstdio>
#include <string>

namespace ddpprof {

// On a terminal one line that is rewritten, elsewhere plain lines now and then.
class Progress {
 public:
  // `quiet`: nothing at all.
  Progress(std::FILE* stream, bool is_terminal, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A line that stays.
  void say(const std::string& text);
  // A line that the next one replaces. Nothing when the stream is not a terminal.
  void show(const std::string& text);
  // A milestone: a line that stays, but only where show() shows nothing.
  void mark(const std::string& text);

 private:
  void erase();

  std::FILE* stream_;
  bool is_terminal_;
  bool quiet_;
  bool shown_ = false;
};

}  // namespace ddpprof

// ddpprof-train and ddpprof-train-cuda: the one place where a trainer's errors become words and
// exit codes.
#include "profiler/trace/error.h"
#include "trainers/command_line.h"
#include "trainers/common/control_channel.h"
#include "trainers/common/session.h"
#include "trainers/common/trainer_kind.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <unistd.h>

namespace {

using ddpprof::ControlChannel;

int tell(ControlChannel* control, const ddpprof::Error& error, bool is_usage) {
  std::fprintf(stderr, "%s: %s: %s\n", std::string(ddpprof::kTrainerKind.program).c_str(),
               error.subject.c_str(), error.problem.c_str());
  if (!error.hint.empty()) {
    std::fprintf(stderr, "  hint: %s\n", error.hint.c_str());
  }
  if (control != nullptr) {
    try {
      control->send(ddpprof::ErrorMessage{.subject = error.subject,
                                          .problem = error.problem,
                                          .hint = error.hint,
                                          .is_usage = is_usage});
    } catch (const ddpprof::ControlLost&) {
      return is_usage ? 2 : 1;  // said on stderr already
    }
  }
  return is_usage ? 2 : 1;
}

// LibTorch's messages carry a C++ stack trace after the first line.
std::string first_line(const char* text) {
  const std::string whole(text);
  return whole.substr(0, whole.find('\n'));
}

int run(std::vector<std::string> arguments, std::unique_ptr<ControlChannel>& control) {
  try {
    ddpprof::CommandLine line = ddpprof::parse_command_line(std::move(arguments));
    if (line.text) {
      std::fputs(line.text->c_str(), stdout);
      return 0;
    }
    if (line.options.control_fd) {
      control = std::make_unique<ControlChannel>(*line.options.control_fd);
    }
    ddpprof::run_session(line.options, control.get());
    return 0;
  } catch (const ddpprof::ControlLost&) {
    return 1;
  } catch (const ddpprof::UsageError& error) {
    return tell(control.get(), error, true);
  } catch (const ddpprof::Error& error) {
    return tell(control.get(), error, false);
  } catch (const std::bad_alloc&) {
    return tell(control.get(),
                ddpprof::Error("memory", "there is not enough", "take a smaller --batch or model"),
                false);
  } catch (const std::exception& error) {
    if (first_line(error.what()).find("out of memory") != std::string::npos) {
      return tell(control.get(),
                  ddpprof::Error("GPU", first_line(error.what()),
                                 "take a smaller --batch or model, or end what else uses the GPU"),
                  false);
    }
    return tell(control.get(),
                ddpprof::Error("training", first_line(error.what()),
                               "an operator of PyTorch failed; if --batch, --seq and --width are "
                               "not too large for this machine, please report it"),
                false);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<ControlChannel> control;
  const int code = run({argv + 1, argv + argc}, control);
  if (code != 0) {
    // Threads of a broken process group may still wait for a peer that is gone; nothing is left
    // that a destructor would have to save.
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return 0;
}

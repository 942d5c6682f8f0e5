#include "tools/launcher/probe.h"

#include "profiler/trace/error.h"
#include "tools/launcher/answer.h"
#include "tools/launcher/process.h"

#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddpprof {
namespace {

using std::chrono::milliseconds;

// What a trainer prints before it exits: "NAME: subject: problem" and maybe "  hint: …", after
// whatever libraries have said. A program of other words: its last line.
struct Words {
  std::string problem, hint;
};

Words words_of(std::string_view text, const std::string& program) {
  const std::string begin = program + ": ";
  constexpr std::string_view kHint = "  hint: ";
  Words words;
  bool is_ours = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(begin)) {
      words = {std::string(line.substr(begin.size())), {}};
      is_ours = true;
    } else if (is_ours && line.starts_with(kHint)) {
      words.hint = line.substr(kHint.size());
    } else if (!is_ours && !line.empty()) {
      words.problem = line;
    }
  }
  return words;
}

}  // namespace

Probe probe_gpus(const std::filesystem::path& program, milliseconds limit) {
  const std::string name = program.filename().string();
  const std::string subject = name + " --probe";
  const std::string by_hand = fmt::format("run it by hand: {} --probe", program.string());
  if (access(program.c_str(), X_OK) != 0) throw Error(name, "not found beside ddpprof");
  const Answer answer = ask(program, "--probe", limit);
  const Words words = words_of(answer.err, name);
  if (!answer.status) {
    throw Error(subject,
                fmt::format("no answer within {} s", std::chrono::duration<double>(limit).count()) +
                    (words.problem.empty() ? "" : "; its last words: " + words.problem),
                "see whether nvidia-smi answers, and " + by_hand);
  }
  if (*answer.status != 0) {
    const bool said_why = WIFEXITED(*answer.status) && !words.problem.empty();
    throw Error(subject,
                said_why ? words.problem
                : words.problem.empty()
                    ? exit_text(*answer.status)
                    : exit_text(*answer.status) + "; its last words: " + words.problem,
                words.hint.empty() ? by_hand : words.hint);
  }
  try {
    return parse_probe(answer.out);
  } catch (const Error& error) {
    throw Error(subject, "its answer cannot be read: " + error.problem,
                "ddpprof and it may be of different builds; " + by_hand);
  }
}

}  // namespace ddpprof

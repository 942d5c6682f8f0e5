// ddpprof: tells why training on several devices is slow. The only place where errors become words
// and exit codes, and where the clock, the environment and the terminal are looked at.
#include "ddpprof_version.h"
#include "profiler/trace/error.h"
#include "tools/commands/compare.h"
#include "tools/commands/export.h"
#include "tools/commands/info.h"
#include "tools/commands/list.h"
#include "tools/commands/train.h"
#include "tools/nearest.h"
#include "tools/print.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

constexpr const char* kDescription =
    "ddpprof tells why training on several devices is slow: it trains the same workload on\n"
    "one device, under DataParallel and under DistributedDataParallel, and says where each\n"
    "nanosecond of the step goes.";

constexpr const char* kFooter =
    "Examples:\n"
    "  ddpprof compare --gpus 2\n"
    "  ddpprof train --strategy ddp --gpus 2\n"
    "  ddpprof compare --help\n"
    "\n"
    "Exit codes: 0 fine, 1 failed, 2 wrong usage.";

const CommandRow* const kCommands[] = {&kCompareCommand, &kExportCommand, &kInfoCommand,
                                       &kListCommand, &kTrainCommand};

// The user's settings of NCCL.
std::map<std::string, std::string> nccl_variables() {
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("NCCL_") || equals == std::string::npos) continue;
    found[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return found;
}

Surroundings look_around(int argc, char** argv) {
  Surroundings around;
  around.command_line.assign(argv, argv + argc);
  std::error_code error;
  around.program_folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  around.unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  around.now_ns = [] {
    const auto steady = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(steady).count();
  };
  around.stderr_is_terminal = isatty(STDERR_FILENO) == 1;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    around.cuda_visible_devices = visible;
  }
  around.nccl_variables = nccl_variables();
  if (const char* path = std::getenv("PATH")) around.search_path = path;
  return around;
}

std::string version_text(const fs::path& program_folder) {
  std::string text = fmt::format("ddpprof {} (commit {})\n", kVersion, kCommit);
  for (const auto& [program, what] : {std::pair{"ddpprof-train", "trainer for the CPU"},
                                      {"ddpprof-train-cuda", "trainer for GPUs"}}) {
    const bool is_built = fs::exists(program_folder / program);
    text += fmt::format("  {:<20}{}: {}\n", program, what, is_built ? "built" : "not built");
  }
  return text;
}

void print_error(const Error& error) {
  fmt::print(stderr, "ddpprof: {}: {}\n", error.subject, error.problem);
  if (!error.hint.empty()) fmt::print(stderr, "  hint: {}\n", error.hint);
}

// CLI11's own words, in our form and with the flag or command that was probably meant.
UsageError usage_error(const CLI::App& app, const CLI::ParseError& parse_error) {
  const CLI::App* command = &app;
  if (!app.get_subcommands().empty()) command = app.get_subcommands().front();
  const std::string full = command == &app ? "ddpprof" : "ddpprof " + command->get_name();
  const std::string help = fmt::format("see {} --help", full);
  // A command that passes flags on cannot have too many.
  const std::vector<std::string> extras =
      command->get_allow_extras() ? std::vector<std::string>() : app.remaining(true);
  if (!extras.empty()) {
    const std::string& word = extras.front();
    const bool is_flag = word.starts_with("-");
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options()) known.push_back(option->get_name());
    if (!is_flag) {
      known.clear();
      for (const CLI::App* sub : app.get_subcommands({})) known.push_back(sub->get_name());
    }
    const std::string near = nearest(word, known);
    const char* what = is_flag           ? "unknown flag"
                       : command == &app ? "unknown command"
                                         : "is one argument too many";
    return UsageError(word, what,
                      near.empty() ? help : fmt::format("did you mean {}? {}", near, help));
  }
  if (app.get_subcommands().empty()) {
    return UsageError("command", "none given", "try ddpprof compare, or see ddpprof --help");
  }
  return UsageError(command == &app ? "command line" : command->get_name(), parse_error.what(),
                    help);
}

void print_help(CLI::App& app, const Surroundings& around) {
  CLI::App* shown = &app;
  std::string more;
  for (const CommandRow* row : kCommands) {
    if (!app.got_subcommand(row->name)) continue;
    if (row->more_help != nullptr) more = row->more_help(around);
    shown = app.get_subcommand(row->name);
    shown->description(row->manual);
  }
  // The blank line between description and usage is ours: CLI11 sets none.
  shown->description(shown->get_description() + "\n");
  print_result(shown->help(shown == &app ? "" : "ddpprof") + more);
}

int run(int argc, char** argv) {
  const Surroundings around = look_around(argc, argv);
  CLI::App app(kDescription, "ddpprof");
  app.footer(kFooter);
  app.set_version_flag(
      "--version", [&] { return version_text(around.program_folder); },
      "Version, commit and which trainers are built");
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  Action action;
  for (const CommandRow* row : kCommands) {
    row->add_flags(*app.add_subcommand(row->name, row->summary), action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    print_help(app, around);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print_result(version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    print_error(usage_error(app, error));
    return kWrongUsage;
  }
  return action(around);
}

}  // namespace
}  // namespace ddpprof

int main(int argc, char** argv) {
  try {
    return ddpprof::run(argc, argv);
  } catch (const ddpprof::UsageError& error) {
    ddpprof::print_error(error);
    return ddpprof::kWrongUsage;
  } catch (const ddpprof::Error& error) {
    ddpprof::print_error(error);
    return ddpprof::kFailed;
  } catch (const std::bad_alloc&) {
    ddpprof::print_error({"memory", "there is not enough"});
    return ddpprof::kFailed;
  } catch (const std::exception& error) {
    ddpprof::print_error(
        {"internal error", error.what(), "please report it with the command line"});
    return ddpprof::kFailed;
  }
}

#include "tools/commands/info.h"

#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "profiler/trace/error.h"
#include "tools/info/describe.h"
#include "tools/print.h"
#include "tools/run_directory.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

std::string describe_file(const fs::path& path) {
  return path.string() + "\n" + describe_trace(read_native(read_file(path), path.string()));
}

std::string describe_folder(const fs::path& folder) {
  const fs::path run = run_file(folder);
  const fs::path report = folder / "report.json";
  const RunFacts facts =
      read_run_facts(read_file(run), run.string(),
                     fs::exists(report) ? read_file(report) : std::string(), report.string());
  std::string text = describe_run(facts);
  for (const RunFacts::Strategy& strategy : facts.strategies) {
    for (const std::string& trace : strategy.traces) {
      text += "\n" + describe_file(folder / trace);
    }
  }
  return text;
}

int run_info(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const fs::path path = name;
    if (!fs::exists(path)) throw Error(name, "there is no such file or folder");
    text += (text.empty() ? "" : "\n") +
            (fs::is_directory(path) ? describe_folder(path) : describe_file(path));
  }
  print_result(text);
  return 0;
}

void add_info_flags(CLI::App& command, Action& action) {
  auto names = std::make_shared<std::vector<std::string>>();
  command.add_option("what", *names, "Folders of runs, or traces")
      ->required()
      ->type_name("RUN|FILE");
  command.footer(
      "Examples:\n"
      "  ddpprof info ddpprof-runs/20260131-123456-bert-base\n"
      "  ddpprof info traces/ddp_rank0.json.gz traces/ddp_rank1.json.gz");
  command.callback(
      [&action, names] { action = [names](const Surroundings&) { return run_info(*names); }; });
}

}  // namespace

const CommandRow kInfoCommand = {
    "info", "Say what is in a trace or a run",
    "Prints, a trace each: rank and workload, steps, devices, records, what was dropped, clocks,\n"
    "versions and issues; of a run also how it was made and what recording cost.",
    add_info_flags};

}  // namespace ddpprof

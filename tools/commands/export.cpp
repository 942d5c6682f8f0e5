#include "tools/commands/export.h"

#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "profiler/formats/nsys_sqlite.h"
#include "profiler/formats/nvtxt.h"
#include "profiler/formats/perfetto.h"
#include "profiler/formats/selection.h"
#include "profiler/trace/error.h"
#include "reports/numbers.h"
#include "tools/export/nsys_report.h"
#include "tools/info/describe.h"
#include "tools/nearest.h"
#include "tools/print.h"
#include "tools/run_directory.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

struct ExportOptions {
  std::vector<std::string> inputs;
  std::string target, out;
  std::vector<std::string> strategies;
  std::vector<std::int32_t> ranks;
  std::string time_range;
  std::optional<std::int64_t> max_events;
  std::string importer;  // empty: look for it
  bool force = false;
};

struct Destination {
  fs::path out;
  bool force = false;
  std::optional<fs::path> importer;  // ImportNvtxt, where there is one
};

struct Target {
  const char* name;
  // Returns what was written, a path a line.
  std::string (*write)(const std::vector<Trace>& traces, const Destination& to);
};

void refuse_to_overwrite(const fs::path& out, bool force) {
  if (!force && fs::exists(out)) {
    throw Error(out.string(), "exists", "--force overwrites it");
  }
}

std::string written(const fs::path& path) {
  return fmt::format("{}, {} kB\n", path.string(),
                     count_text(static_cast<std::int64_t>(fs::file_size(path) + 999) / 1000));
}

// As in a run's own folder. A trace may come from anywhere, and must not lead out of the folder.
fs::path file_name(const TraceInfo& info) {
  if (info.strategy.find('/') != info.strategy.npos) {
    throw Error("strategy " + info.strategy, "cannot be the name of a file",
                "export that trace alone, by --strategy and --ranks");
  }
  return RunDirectory::trace(info.strategy, info.rank).filename();
}

// One trace is the file itself, several are a folder: viewers and HTA take a file a rank.
std::string write_chrome(const std::vector<Trace>& traces, const Destination& to) {
  const fs::path& out = to.out;
  if (traces.size() == 1) {
    refuse_to_overwrite(out, to.force);
    write_file(out, write_native(traces.front()));
    return written(out);
  }
  if (fs::exists(out) && !fs::is_directory(out)) {
    throw Error(out.string(), "is a file, and several traces are a folder",
                "name a folder, or one trace by --strategy and --ranks");
  }
  std::vector<fs::path> paths;
  for (const Trace& trace : traces) {
    paths.push_back(out / file_name(trace.info));
    refuse_to_overwrite(paths.back(), to.force);
  }
  std::error_code error;
  fs::create_directories(out, error);
  if (error) {
    throw Error(out.string(), "cannot be made: " + error.message(), "choose another folder");
  }
  std::string text;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    write_file(paths[i], write_native(traces[i]));
    text += written(paths[i]);
  }
  return text;
}

std::string write_merged(const std::vector<Trace>& traces, const Destination& to) {
  refuse_to_overwrite(to.out, to.force);
  write_file(to.out, write_perfetto(traces));
  return written(to.out) + "see: https://ui.perfetto.dev, \"Open trace file\"\n";
}

// `nsys stats X.nsys-rep` silently takes an X.sqlite that lies beside it.
std::string write_sqlite(const std::vector<Trace>& traces, const Destination& to) {
  const fs::path& out = to.out;
  for (const char* extension : {".nsys-rep", ".qdrep"}) {
    const fs::path report = fs::path(out).replace_extension(extension);
    if (!fs::exists(report)) continue;
    throw Error(out.string(), "has the name of " + report.string() + ", a report of Nsight Systems",
                "nsys would take this file for an export of it: choose another name");
  }
  refuse_to_overwrite(out, to.force);
  write_file(out, write_nsys_sqlite(traces));
  const bool has_kernels =
      std::ranges::any_of(traces, [](const Trace& trace) { return !trace.work.empty(); });
  return written(out) + fmt::format("see: nsys stats --report nvtx_pushpop_sum{} {}\n",
                                    has_kernels ? ",cuda_gpu_kern_sum" : "", out.string());
}

// Without the importer the text is as far as we get: it is kept, with the rest of the way.
std::string write_report(const std::vector<Trace>& traces, const Destination& to) {
  if (to.out.extension() != ".nsys-rep") {
    throw UsageError("--out " + to.out.string(), "does not end in .nsys-rep",
                     "Nsight Systems opens no other names");
  }
  refuse_to_overwrite(to.out, to.force);
  const std::string nvtxt = write_nvtxt(traces);
  if (to.importer) {
    import_nvtxt(*to.importer, nvtxt, to.out);
    return written(to.out) +
           "see: nsys-ui; it has ranges alone, a stream of a GPU is a thread with a name\n";
  }
  const fs::path text = fs::path(to.out).replace_extension(".nvtxt");
  refuse_to_overwrite(text, to.force);
  write_file(text, nvtxt);
  return written(text) +
         fmt::format(
             "{} is left to ImportNvtxt, which comes with Nsight Systems, in host-linux-x64.\n"
             "Name it by --import-nvtxt, or, with D set to its folder:\n  {}\n",
             to.out.string(), import_command(text, to.out));
}

constexpr std::array kTargets = {Target{"chrome", write_chrome}, Target{"perfetto", write_merged},
                                 Target{"nsys-sqlite", write_sqlite},
                                 Target{"nsys-rep", write_report}};

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Target& target : kTargets) names.emplace_back(target.name);
  return names;
}

const Target& find_target(const std::string& name) {
  const auto* const found = std::ranges::find(kTargets, name, &Target::name);
  if (found != kTargets.end()) return *found;
  const std::vector<std::string> known = target_names();
  const std::string near = nearest(name, known);
  throw UsageError("--to " + name, "unknown format",
                   near.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                                : fmt::format("did you mean {}?", near));
}

std::vector<fs::path> files_of(const fs::path& input) {
  if (!fs::exists(input)) throw Error(input.string(), "there is no such file or folder");
  if (!fs::is_directory(input)) return {input};
  const fs::path run = run_file(input);
  std::vector<fs::path> files;
  for (const auto& strategy : read_run_facts(read_file(run), run.string(), "", "").strategies) {
    for (const std::string& trace : strategy.traces) files.push_back(input / trace);
  }
  return files;
}

auto key_of(const Trace& trace) {
  // In the order people compare: one device first.
  constexpr std::array<std::string_view, 3> kOrder = {"single", "dp", "ddp"};
  return std::tuple(std::ranges::find(kOrder, trace.info.strategy) - kOrder.begin(),
                    trace.info.strategy, trace.info.rank);
}

template <typename T, typename Get>
void keep(std::vector<Trace>& traces, const std::vector<T>& wanted, const std::string& flag,
          const Get& get) {
  if (wanted.empty()) return;
  std::vector<T> known;
  for (const Trace& trace : traces) known.push_back(get(trace));
  for (const T& one : wanted) {
    if (std::ranges::find(known, one) != known.end()) continue;
    std::ranges::sort(known);
    known.erase(std::unique(known.begin(), known.end()), known.end());
    throw UsageError(fmt::format("{} {}", flag, one), "is not in what was named",
                     fmt::format("there are {}", fmt::join(known, ", ")));
  }
  std::erase_if(traces, [&](const Trace& trace) {
    return std::ranges::find(wanted, get(trace)) == wanted.end();
  });
}

std::vector<Trace> read_traces(const ExportOptions& options) {
  std::vector<Trace> traces;
  for (const std::string& input : options.inputs) {
    for (const fs::path& file : files_of(input)) {
      traces.push_back(read_native(read_file(file), file.string()));
    }
  }
  std::ranges::stable_sort(traces, {}, key_of);
  const auto twice = std::ranges::adjacent_find(traces, {}, key_of);
  if (twice != traces.end()) {
    throw Error(fmt::format("{} rank {}", twice->info.strategy, twice->info.rank), "is there twice",
                "name the traces of one run");
  }
  keep(traces, options.strategies, "--strategy", [](const Trace& t) { return t.info.strategy; });
  keep(traces, options.ranks, "--ranks", [](const Trace& t) { return t.info.rank; });
  if (traces.empty()) {
    throw UsageError("--strategy, --ranks", "no trace is of both", "drop one of the two");
  }
  return traces;
}

std::optional<fs::path> importer_for(const ExportOptions& options, const Surroundings& around) {
  if (options.importer.empty()) return find_importer(around.search_path, nsight_folders());
  if (options.importer == "none") return std::nullopt;
  if (!fs::is_regular_file(options.importer)) {
    throw Error("--import-nvtxt " + options.importer, "there is no such file");
  }
  return options.importer;
}

int run_export(const ExportOptions& options, const Surroundings& around) {
  const Target& target = find_target(options.target);
  if (!options.importer.empty() && target.write != write_report) {
    throw UsageError("--import-nvtxt", "is for --to nsys-rep alone", "drop one of the two");
  }
  const std::optional<TimeRange> range = options.time_range.empty()
                                             ? std::nullopt
                                             : std::optional(parse_time_range(options.time_range));
  if (options.max_events && *options.max_events < 1) {
    throw UsageError(fmt::format("--max-events {}", *options.max_events), "must be at least 1");
  }
  const Destination to = {options.out, options.force, importer_for(options, around)};
  std::vector<Trace> traces = read_traces(options);
  const std::int64_t all = count_events(traces);
  if (range) traces = select_time(std::move(traces), *range);
  if (options.max_events) traces = select_first(std::move(traces), *options.max_events);
  const std::int64_t left = count_events(traces);
  if (left == 0 && all > 0) {
    throw Error("--time-range " + options.time_range, "no event is in it");
  }
  std::string text = target.write(traces, to);
  if (left < all) text += fmt::format("{} of {} events\n", count_text(left), count_text(all));
  print_result(text);
  return 0;
}

void add_export_flags(CLI::App& command, Action& action) {
  auto options = std::make_shared<ExportOptions>();
  command.add_option("what", options->inputs, "The folder of a run, or traces")
      ->required()
      ->type_name("RUN|FILE");
  command
      .add_option("--to", options->target,
                  fmt::format("One of {}", fmt::join(target_names(), ", ")))
      ->required()
      ->type_name("FORMAT");
  command
      .add_option("--out", options->out, "Where to write; a folder where chrome has several traces")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--strategy", options->strategies, "Only these: single, dp, ddp (default all)")
      ->delimiter(',')
      ->type_name("LIST");
  command.add_option("--ranks", options->ranks, "Only these (default all)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("--time-range", options->time_range,
                  "What overlaps BEGIN:END, since the first step began: 1.5s:3s, 200ms:, :40us")
      ->type_name("RANGE");
  command
      .add_option("--max-events", options->max_events,
                  "Whole steps from the front, at most so many events of all traces together")
      ->type_name("N");
  command
      .add_option("--import-nvtxt", options->importer,
                  "ImportNvtxt of Nsight Systems, or none to write text alone\n"
                  "(default: looks beside nsys, and where Nsight Systems installs)")
      ->type_name("PROGRAM");
  command.add_flag("--force", options->force, "Overwrite what is there");
  command.footer(
      "Examples:\n"
      "  ddpprof export ddpprof-runs/20260131-123456-bert-base --to nsys-sqlite --out run.sqlite\n"
      "  ddpprof export RUN --strategy ddp --to chrome --out ddp-traces\n"
      "  ddpprof export RUN --time-range 200ms:400ms --to perfetto --out part.pftrace.gz\n"
      "  ddpprof export RUN --strategy ddp --to nsys-rep --out ddp.nsys-rep");
  command.callback([&action, options] {
    action = [options](const Surroundings& around) { return run_export(*options, around); };
  });
}

}  // namespace

const CommandRow kExportCommand = {
    "export", "Write a run or traces for other tools",
    "Writes recordings in the formats of other tools:\n"
    "  chrome       JSON a rank, for Perfetto, chrome://tracing and HTA: "
    "<strategy>_rank<r>.json.gz\n"
    "               in a folder, or the file itself where it is one trace\n"
    "  perfetto     one file with all ranks on one clock, with arrows from launches to kernels "
    "and\n"
    "               along collectives, and counters, for ui.perfetto.dev (packed if FILE ends in "
    ".gz)\n"
    "  nsys-sqlite  one file with all ranks, in the schema of nsys export, for nsys stats and\n"
    "               nsys analyze (the window of Nsight Systems opens no such files)\n"
    "  nsys-rep     one file with all ranks for the window of Nsight Systems: ranges alone, "
    "streams\n"
    "               are threads there. Made by ImportNvtxt, which comes with it; without one a\n"
    "               .nvtxt is written instead, with the command that makes FILE of it",
    add_export_flags};

}  // namespace ddpprof

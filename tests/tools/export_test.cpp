// `ddpprof export` as a user meets it.
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"
#include "reports/json.h"
#include "tests/formats/small_trace.h"
#include "tests/tools/program.h"

#include <filesystem>
#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

namespace ddpprof::test {
namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A run of DDP on two ranks and of one device, and a place to write to.
class Export : public testing::Test {
 protected:
  Export() : folder_(fs::temp_directory_path() / ("ddpprof_export_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    RunRecord record;
    for (const auto& [strategy, ranks] : {std::pair{"single", 1}, {"ddp", 2}}) {
      record.input.strategies.emplace_back().key = strategy;
      RunRecord::Files& files = record.files.emplace_back();
      for (int rank = 0; rank < ranks; ++rank) {
        Trace trace = small_trace();
        trace.info.strategy = strategy;
        trace.info.rank = rank;
        const std::string name =
            std::string("traces/") + strategy + "_rank" + std::to_string(rank) + ".json.gz";
        fs::create_directories(run() / "traces");
        write_file(run() / name, write_native(trace));
        files.traces.push_back(name);
        files.logs.push_back("logs/" + std::to_string(rank));
      }
    }
    write_file(run() / "run.json", run_json(record));
  }
  ~Export() override { fs::remove_all(folder_); }
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;

  fs::path run() const { return folder_ / "run"; }
  fs::path out(const std::string& name) const { return folder_ / name; }

  static Outcome export_it(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {DDPPROF_PROGRAM, "export"});
    return run_program(arguments);
  }

  static std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
    return names;
  }

 private:
  const fs::path folder_;
};

TEST_F(Export, ToNsysIsOneFileWithNothingBesideIt) {
  const Outcome outcome = export_it({run(), "--to", "nsys-sqlite", "--out", out("a.sqlite")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "nsys stats --report nvtx_pushpop_sum,cuda_gpu_kern_sum"))
      << outcome.out;
  EXPECT_EQ(names_in(out("")), (std::set<std::string>{"a.sqlite", "run"}));
  const std::string content = read_file(out("a.sqlite"));
  EXPECT_TRUE(content.starts_with("SQLite format 3"));
  for (const char* process : {"single rank 0", "ddp rank 0", "ddp rank 1"}) {
    EXPECT_TRUE(has(content, process)) << process;
  }
  ASSERT_EQ(export_it({run(), "--to", "nsys-sqlite", "--out", out("b.sqlite")}).exit_code, 0);
  EXPECT_EQ(read_file(out("b.sqlite")), content);
}

TEST_F(Export, ToNsysLeavesTheNameOfARealReportAlone) {
  for (const std::string report : {"a.nsys-rep", "b.qdrep"}) {
    write_file(out(report), "a report");
    const fs::path file = fs::path(out(report)).replace_extension(".sqlite");
    const Outcome outcome = export_it({run(), "--to", "nsys-sqlite", "--out", file, "--force"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(has(outcome.err, report)) << outcome.err;
    EXPECT_FALSE(fs::exists(file));
  }
}

// A script in the importer's place: the report is what it was given.
TEST_F(Export, ToAReportOfNsysGivesTheImporterAllTraces) {
  write_file(out("importer"), "#!/bin/bash\ncp \"$4\" \"$6\"\n");
  fs::permissions(out("importer"), fs::perms::owner_all);
  const std::vector<std::string> arguments = {
      run(), "--to", "nsys-rep", "--out", out("a.nsys-rep"), "--import-nvtxt", out("importer")};
  const Outcome outcome = export_it(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string content = read_file(out("a.nsys-rep"));
  for (const char* process : {"single rank 0", "ddp rank 0", "ddp rank 1"}) {
    EXPECT_TRUE(has(content, std::string("\"") + process + "\"")) << process;
  }
  EXPECT_EQ(names_in(out("")), (std::set<std::string>{"a.nsys-rep", "importer", "run"}));
  const Outcome again = export_it(arguments);
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(has(again.err, "--force")) << again.err;
}

TEST_F(Export, ToAReportOfNsysIsATextAndACommandWithoutTheImporter) {
  const Outcome outcome =
      export_it({run(), "--to", "nsys-rep", "--out", out("a.nsys-rep"), "--import-nvtxt", "none"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "--cmd create -n " + out("a.nvtxt").string())) << outcome.out;
  EXPECT_EQ(names_in(out("")), (std::set<std::string>{"a.nvtxt", "run"}));
}

TEST_F(Export, ToChromeIsAFolderOfSeveralTraces) {
  const Outcome outcome = export_it({run(), "--to", "chrome", "--out", out("chrome")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(
      names_in(out("chrome")),
      (std::set<std::string>{"single_rank0.json.gz", "ddp_rank0.json.gz", "ddp_rank1.json.gz"}));
  EXPECT_EQ(read_file(out("chrome") / "ddp_rank1.json.gz"),
            read_file(run() / "traces/ddp_rank1.json.gz"));
}

TEST_F(Export, NoTraceLeadsOutOfTheFolder) {
  Trace trace = small_trace();
  trace.info.strategy = "../elsewhere";
  write_file(out("odd.json.gz"), write_native(trace));
  const std::string other = run() / "traces/ddp_rank0.json.gz";
  const Outcome outcome =
      export_it({other, out("odd.json.gz"), "--to", "chrome", "--out", out("c")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(has(outcome.err, "../elsewhere")) << outcome.err;
  EXPECT_EQ(names_in(out("")), (std::set<std::string>{"odd.json.gz", "run"}));
}

TEST_F(Export, ToChromeIsTheFileOfOneTrace) {
  const Outcome outcome = export_it(
      {run(), "--to", "chrome", "--out", out("one.json"), "--strategy", "ddp", "--ranks", "1"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const Trace trace = read_native(read_file(out("one.json")), "one.json");
  EXPECT_EQ(trace.info.strategy, "ddp");
  EXPECT_EQ(trace.info.rank, 1);
}

TEST_F(Export, ToPerfettoIsOneFilePackedByItsName) {
  const Outcome outcome = export_it({run(), "--to", "perfetto", "--out", out("a.pftrace.gz")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string content = read_file(out("a.pftrace.gz"));
  for (const char* process : {"single rank 0", "ddp rank 0", "ddp rank 1"}) {
    EXPECT_TRUE(has(content, process)) << process;
  }
  EXPECT_LT(fs::file_size(out("a.pftrace.gz")), content.size());
}

TEST_F(Export, TakesAPartAndSaysSo) {
  const std::string trace = run() / "traces/ddp_rank0.json.gz";
  const Outcome first =
      export_it({trace, "--to", "chrome", "--out", out("first.json"), "--max-events", "12"});
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_TRUE(has(first.out, "12 of 13 events")) << first.out;
  EXPECT_EQ(read_native(read_file(out("first.json")), "first.json").steps.size(), 1u);
  const Outcome second =
      export_it({trace, "--to", "chrome", "--out", out("second.json"), "--time-range", "2ms:"});
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_TRUE(has(second.out, "1 of 13 events")) << second.out;
  EXPECT_EQ(read_native(read_file(out("second.json")), "second.json").steps.front().index, 11);
}

TEST_F(Export, OverwritesOnlyWhenForced) {
  write_file(out("a.sqlite"), "mine");
  const std::vector<std::string> arguments = {run(), "--to", "nsys-sqlite", "--out",
                                              out("a.sqlite")};
  const Outcome refused = export_it(arguments);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(has(refused.err, "--force")) << refused.err;
  EXPECT_EQ(read_file(out("a.sqlite")), "mine");
  std::vector<std::string> forced = arguments;
  forced.emplace_back("--force");
  EXPECT_EQ(export_it(forced).exit_code, 0);
  EXPECT_NE(read_file(out("a.sqlite")), "mine");
}

TEST_F(Export, SaysWhereNoFolderCanBe) {
  const Outcome outcome = export_it({run(), "--to", "chrome", "--out", "/proc/nowhere/chrome"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(has(outcome.err, "/proc/nowhere/chrome: cannot be made")) << outcome.err;
}

// A folder in which one name is taken is left as it was.
TEST_F(Export, WritesAllTracesOrNone) {
  fs::create_directories(out("chrome"));
  write_file(out("chrome") / "ddp_rank1.json.gz", "mine");
  EXPECT_EQ(export_it({run(), "--to", "chrome", "--out", out("chrome")}).exit_code, 1);
  EXPECT_EQ(names_in(out("chrome")), (std::set<std::string>{"ddp_rank1.json.gz"}));
}

TEST_F(Export, RefusesWithAHint) {
  const std::string trace = run() / "traces/ddp_rank0.json.gz";
  struct Refusal {
    std::vector<std::string> arguments;
    int exit_code;
    std::string message;
  };
  const std::vector<Refusal> refusals = {
      {{trace, "--to", "chrom"}, 2, "did you mean chrome?"},
      {{trace, "--to", "xml"}, 2, "known are chrome, perfetto, nsys-sqlite, nsys-rep"},
      {{trace, "--to", "nsys-rpe"}, 2, "did you mean nsys-rep?"},
      {{trace, "--to", "nsys-rep"}, 2, "does not end in .nsys-rep"},
      {{trace, "--to", "nsys-rep", "--import-nvtxt", "/nowhere"}, 1, "there is no such file"},
      {{trace, "--to", "chrome", "--import-nvtxt", "/bin/true"}, 2, "is for --to nsys-rep alone"},
      {{run(), "--to", "chrome", "--strategy", "dp"}, 2, "there are ddp, single"},
      {{run(), "--to", "chrome", "--ranks", "7"}, 2, "there are 0, 1"},
      {{run(), "--to", "chrome", "--strategy", "single", "--ranks", "1"}, 2, "there are 0"},
      {{trace, "--to", "chrome", "--time-range", "3s"}, 2, "has no colon"},
      {{trace, "--to", "chrome", "--time-range", "3s:"}, 1, "no event is in it"},
      {{trace, "--to", "chrome", "--max-events", "0"}, 2, "must be at least 1"},
      {{trace, "--to", "chrome", "--max-events", "2"}, 1, "the first step alone has 12"},
      {{trace, trace, "--to", "chrome"}, 1, "ddp rank 0: is there twice"},
      {{"/nowhere", "--to", "chrome"}, 1, "there is no such file or folder"},
      {{out(""), "--to", "chrome"}, 1, "holds no whole run"}};
  for (Refusal refusal : refusals) {
    refusal.arguments.insert(refusal.arguments.end(), {"--out", out("never")});
    const Outcome outcome = export_it(refusal.arguments);
    EXPECT_EQ(outcome.exit_code, refusal.exit_code) << outcome.err;
    EXPECT_TRUE(has(outcome.err, refusal.message)) << outcome.err;
    EXPECT_FALSE(fs::exists(out("never")));
  }
}

}  // namespace
}  // namespace ddpprof::test

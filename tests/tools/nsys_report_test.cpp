// Bash scripts stand in the place of the importer.
#include "tools/export/nsys_report.h"

#include "profiler/formats/file.h"
#include "profiler/trace/error.h"
#include "tests/tools/script_folder.h"

#include <set>

namespace ddpprof {
namespace {

namespace fs = std::filesystem;

class NsysReport : public test::ScriptFolder {
 protected:
  fs::path importer_at(const fs::path& folder) const {
    fs::create_directories(folder_ / folder);
    return script((folder / "ImportNvtxt").string(), "exit 0");
  }
  fs::path report() const { return folder_ / "run.nsys-rep"; }

  // Which must not come about.
  Error error_of(const fs::path& importer) const {
    try {
      import_nvtxt(importer, "# text\n", report());
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "wrote a report";
    return {"none", "none"};
  }

  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }
};

TEST_F(NsysReport, IsWhatTheImporterMakesInTheFolderOfItsLibraries) {
  const fs::path importer =
      script("importer",
             R"(echo "$1 $2 $3 $5 $(basename "$4") $LD_LIBRARY_PATH" > "$6"; cat "$4" >> "$6")");
  import_nvtxt(importer, "# text\n", report());
  EXPECT_EQ(read_file(report()), "--cmd create -n -o run.nvtxt " + folder_.string() + "\n# text\n");
  EXPECT_EQ(names(), (std::set<std::string>{"importer", "run.nsys-rep"}));
}

TEST_F(NsysReport, IsWholeOrNotThere) {
  for (const char* body : {"echo made > \"$6\"; echo 'bad line 7' >&2; exit 3", "exit 0",
                           ": > \"$6\"", "kill -9 $$"}) {
    const fs::path importer = script("importer", body);
    const Error error = error_of(importer);
    EXPECT_NE(error.problem.find("made no report"), std::string::npos) << body << error.problem;
    EXPECT_EQ(names(), (std::set<std::string>{"importer"})) << body;
  }
  const Error error = error_of(script("importer", "echo 'bad line 7' >&2; exit 3"));
  EXPECT_NE(error.problem.find("exit code 3"), std::string::npos) << error.problem;
  EXPECT_NE(error.hint.find("bad line 7"), std::string::npos) << error.hint;
}

TEST_F(NsysReport, AFailureLeavesTheOldOne) {
  write_file(report(), "old");
  error_of(script("importer", "exit 1"));
  EXPECT_EQ(read_file(report()), "old");
}

TEST_F(NsysReport, TakesThePlaceOfAnOldOne) {
  write_file(report(), "old");
  import_nvtxt(script("importer", "echo new > \"$6\""), "# text\n", report());
  EXPECT_EQ(read_file(report()), "new\n");
}

TEST_F(NsysReport, FindsTheImporterBesideNsys) {
  const fs::path bin = folder_ / "bin", product = folder_ / "2024.5.1";
  fs::create_directories(bin);
  fs::create_directories(product / "target-linux-x64");
  EXPECT_FALSE(find_importer(bin.string(), {}));
  const fs::path nsys = script("2024.5.1/target-linux-x64/nsys", "exit 0");
  fs::create_symlink(nsys, bin / "nsys");
  EXPECT_FALSE(find_importer(bin.string(), {})) << "nsys alone, as containers have it";
  const fs::path importer = importer_at("2024.5.1/host-linux-x64");
  EXPECT_EQ(find_importer("/nowhere:" + bin.string(), {}), importer);
  EXPECT_FALSE(find_importer("", {}));
}

TEST_F(NsysReport, FindsTheNewestImporterThatIsInstalled) {
  const fs::path opt = folder_ / "opt";
  importer_at("opt/nsight-systems/2024.9.3/host-linux-x64");
  const fs::path newest = importer_at("opt/nsight-systems/2024.10.1/host-linux-x64");
  importer_at("opt/other/2030.1.1/host-linux-x64");
  fs::create_directories(opt / "nsight-systems/2025.1.1/host-linux-x64");  // without it
  EXPECT_EQ(find_importer("", {folder_ / "none", opt}), newest);
  const fs::path packaged = importer_at("lib/host-linux-x64");
  EXPECT_EQ(find_importer("", {folder_ / "lib"}), packaged);
  EXPECT_EQ(find_importer("", {opt, folder_ / "lib"}), newest);
}

TEST_F(NsysReport, AnImporterThatMayNotRunIsNone) {
  const fs::path importer = importer_at("lib/host-linux-x64");
  fs::permissions(importer, fs::perms::owner_read);
  EXPECT_FALSE(find_importer("", {folder_ / "lib"}));
}

}  // namespace
}  // namespace ddpprof

#include "tools/commands/list.h"

#include "profiler/trace/error.h"
#include "reports/table.h"
#include "tools/print.h"
#include "trainers/common/faults.h"
#include "trainers/workloads/table.h"

#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace ddpprof {
namespace {

Table workloads() {
  Table table;
  for (const WorkloadRow& row : workload_rows()) {
    table.add({fmt::format("{:<12}  {} (batch {}, {})", row.name, row.summary, row.defaults.batch,
                           row.defaults.precision)});
  }
  return table;
}

Table strategies() {
  Table table;
  table.add({"single  one device"});
  table.add({"dp      DataParallel: one process, the model is replicated every forward"});
  table.add({"ddp     DistributedDataParallel: a process a device, bucketed all-reduce"});
  return table;
}

Table formats() {
  Table table;
  table.add({"native  Chrome Trace JSON as torch.profiler writes it, with a \"ddpprof\" object;"});
  table.add({"        what compare writes, a file a rank"});
  table.add({"chrome, perfetto, nsys-sqlite"});
  table.add({"        what ddpprof export writes: see ddpprof export --help"});
  return table;
}

Table faults() {
  Table table;
  for (const FaultRow& row : fault_rows()) {
    table.add({fmt::format("{:<16}  {}", row.name, row.summary)});
  }
  return table;
}

struct ListRow {
  const char* name;
  Table (*table)();
};
constexpr ListRow kLists[] = {
    {"workloads", workloads}, {"strategies", strategies}, {"formats", formats}, {"faults", faults}};

int run_list(const std::string& what) {
  for (const ListRow& row : kLists) {
    if (what != row.name) continue;
    print_result(row.table().text());
    return 0;
  }
  throw UsageError("list " + what, "no such list",
                   "there are: workloads, strategies, formats, faults");
}

void add_list_flags(CLI::App& command, Action& action) {
  auto what = std::make_shared<std::string>();
  command.add_option("what", *what, "workloads, strategies, formats or faults")->required();
  command.footer("Example:\n  ddpprof list workloads");
  command.callback(
      [&action, what] { action = [what](const Surroundings&) { return run_list(*what); }; });
}

}  // namespace

const CommandRow kListCommand = {"list", "List workloads, strategies, formats or faults",
                                 "Lists what there is to choose from.", add_list_flags};

}  // namespace ddpprof

// What is in a trace or a run, as `ddpprof info` prints it.
#pragma once

#include "profiler/trace/trace.h"

#include <optional>
#include <string>
#include <vector>

namespace ddpprof {

// A paragraph: a line that names rank and workload, and a line each for steps, devices, what saw
// them, records, what was dropped, what collecting cost by its own account (where it tells),
// clocks, versions and issues. What the trace does not tell is an em dash.
// Guarantees: ends with a newline; the same trace gives the same text.
std::string describe_trace(const Trace& trace);

// What run.json and report.json say of a run as a whole.
struct RunFacts {
  std::string tool_version, started;
  std::vector<std::string> command;
  struct Strategy {
    std::string key;
    std::vector<std::string> traces;      // relative to the run's folder
    std::optional<std::string> recorder;  // what saw the devices
    std::optional<double> overhead;       // recorded / not recorded - 1
  };
  std::vector<Strategy> strategies;
};

// Throws Error, naming `run_name` or `report_name`, when a text is not what ddpprof writes. An
// empty `report_json`: recorders and overheads are absent.
RunFacts read_run_facts(const std::string& run_json, const std::string& run_name,
                        const std::string& report_json, const std::string& report_name);

// The lines above the traces of a run.
std::string describe_run(const RunFacts& facts);

}  // namespace ddpprof

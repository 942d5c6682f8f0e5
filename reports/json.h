// report.json, the machine contract: field names, meanings and units stand in reports/README.md.
#pragma once

#include "profiler/diagnose/diagnose.h"
#include "profiler/diagnose/diagnosis.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ddpprof {

inline constexpr int kReportSchema = 1;

// Guarantees: valid JSON that ends in a newline; the same Diagnosis gives the same bytes; what was
// not measured is null. Times are milliseconds a step, not rounded, so that rows sum to window_ms.
std::string report_json(const Diagnosis& diagnosis);

// What `compare` did, without the events: enough to find every file of a run and to make the
// report again from its traces.
struct RunRecord {
  std::string started;               // local time with offset, ISO 8601
  std::vector<std::string> command;  // as typed
  DiagnoseInput input;               // the traces inside are not written
  // Paths relative to the run directory; a trace and a log a rank, keyed by strategy in `input`'s
  // order.
  struct Files {
    std::vector<std::string> traces, logs;
  };
  std::vector<Files> files;
  std::int64_t steps = 0, rounds = 0, warmup = 0, recorded_steps = 0;
  std::int64_t threads_per_device = 0;
  bool isolated = false;
};

// run.json of a run directory.
std::string run_json(const RunRecord& record);

}  // namespace ddpprof

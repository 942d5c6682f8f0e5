// From recorded jobs to a Diagnosis. The body of diagnose() is the table of contents of the folder.
#pragma once

#include "profiler/diagnose/diagnosis.h"
#include "profiler/trace/trace.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ddpprof {

// One strategy as it was measured.
struct StrategyInput {
  std::string key;
  std::int32_t processes = 0;
  std::int32_t devices = 0;
  std::optional<std::int64_t> global_batch;
  Run run;  // the recorded pass
  // Whole steps without and with recording, a round a visit. An import has neither: its step times
  // are the windows of its recorded steps.
  std::optional<Rounds> unrecorded_ms, recorded_ms;
  std::optional<LossFigures> loss;
};

struct DiagnoseInput {
  ToolInfo tool;
  WorkloadInfo workload;
  MachineInfo machine;
  std::vector<StrategyInput> strategies;
};

// Throws Error when a strategy has no complete step.
Diagnosis diagnose(const DiagnoseInput& input);

}  // namespace ddpprof

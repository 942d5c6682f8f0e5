// One maker a workload; make_workload() finds it by name.
#pragma once

#include "trainers/workloads/table.h"
#include "trainers/workloads/workload.h"

namespace ddpprof {

Workload make_digits_mlp(const WorkloadDefaults& defaults, const WorkloadOptions& options,
                         Precision precision);
Workload make_bert_base(const WorkloadDefaults& defaults, const WorkloadOptions& options,
                        Precision precision);

// The user's value, or else the preset's.
// Throws: UsageError when it is not from `low` to `high`.
std::int64_t choose(const char* flag, std::optional<std::int64_t> given, std::int64_t preset,
                    std::int64_t low, std::int64_t high);
double choose_dropout(std::optional<double> given, double preset);

// Throws: UsageError when a flag is given that the workload has no use for.
void refuse_given(std::string_view workload, const char* flag, bool is_given);

}  // namespace ddpprof

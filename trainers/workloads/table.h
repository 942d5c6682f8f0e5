// The workloads by name, without LibTorch: what a front end prints, and the values a trainer takes
// where its user gave none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddpprof {

// Absent: the workload has no such setting.
struct WorkloadDefaults {
  std::int64_t batch = 0;      // samples an optimizer step, over all devices
  std::string_view precision;  // on an accelerator; a CPU takes fp32
  double learning_rate = 0;
  double weight_decay = 0;
  double dropout = 0;
  std::int64_t steps = 0;                     // of a stand-alone run
  std::int64_t compare_steps = 0;             // a round of `ddpprof compare`
  std::int64_t compare_warmup = 0;            // steps before its first round
  std::int64_t compare_warmup_on_gpus = 0;    // the same: kernels are chosen, memory is pooled
  std::optional<std::int64_t> samples_count;  // in the training set; absent: made as needed
  std::int64_t layers = 0;
  std::int64_t width = 0;
  std::optional<std::int64_t> sequence_length;
  std::optional<std::int64_t> vocabulary;
};

struct WorkloadRow {
  std::string_view name;
  std::string_view summary;
  WorkloadDefaults defaults;
};

// Shape: in the order in which they are listed; never empty.
std::span<const WorkloadRow> workload_rows();

// Null when there is none of that name.
const WorkloadRow* find_workload_row(std::string_view name);

// "digits-mlp, bert-base": for messages.
std::string workload_names();

}  // namespace ddpprof

// What was trained, in figures: a part of every trace and of report.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ddpprof {

// A figure that the source of the trace does not tell is absent.
struct WorkloadInfo {
  std::string name;                              // "digits-mlp"
  std::string model;                             // "mlp 64-256-256-10"
  std::string dtype;                             // fp32 | fp64 | bf16 | fp16
  std::optional<std::int64_t> global_batch;      // samples an optimizer step, over all devices
  std::optional<std::int64_t> parameters_count;  // scalars that are trained, tied ones once
  std::optional<std::int64_t> gradient_bytes;
  std::optional<std::int64_t> sequence_length;
  std::optional<std::int64_t> micro_steps;  // backward passes an optimizer step

  bool operator==(const WorkloadInfo&) const = default;
};

}  // namespace ddpprof

// The three keys every nanosecond of a step is booked under, and their spelling. The spelling is
// the same in C++, in report.json, in the native trace and on the command line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ddpprof {

// What a device does at an instant. The order is the priority: the first that holds wins.
// Source: DESIGN of the accounting, profiler/README.md, "One label a nanosecond".
enum class Activity : std::uint8_t {
  compute,        // useful work hides everything that runs beside it
  communication,  // only what no kernel hides: exposed collectives and peer copies
  copy,           // memory copies and sets that nothing above hides
  stall,          // nothing runs
};

// Why a device stalls. On a CPU a stall has no kind.
enum class StallKind : std::uint8_t {
  queued,   // the next work was already launched when the stall began
  host,     // the thread that launches the next work was still on its way to the launch
  sync,     // that thread sat in a synchronising call
  latency,  // launched, not yet started
};

// What the training loop is at.
enum class Phase : std::uint8_t {
  data,         // fetching a batch and moving it to the device
  scatter,      // DP: splitting the batch over the devices
  replicate,    // DP: copying the parameters to the replicas
  forward,      //
  gather,       // DP: collecting the outputs
  loss,         //
  backward,     //
  bucket_copy,  // DDP: copying and scaling gradients into and out of buckets
  grad_reduce,  // DP: adding the replicas' gradients
  all_reduce,   // DDP: the gradients' all-reduce
  optimizer,    // zeroing gradients, clipping, the update
  other,        // inside the step and under none of the above
  unphased,     // an import that cannot tell
  graph,        // a CUDA graph without node records
};

inline constexpr std::array<std::string_view, 4> kActivityNames = {"compute", "communication",
                                                                   "copy", "stall"};
inline constexpr std::array<std::string_view, 4> kStallKindNames = {"queued", "host", "sync",
                                                                    "latency"};
inline constexpr std::array<std::string_view, 14> kPhaseNames = {
    "data",        "scatter",     "replicate",  "forward",   "gather", "loss",     "backward",
    "bucket_copy", "grad_reduce", "all_reduce", "optimizer", "other",  "unphased", "graph"};

constexpr std::string_view to_string(Activity activity) {
  return kActivityNames[static_cast<std::size_t>(activity)];
}
constexpr std::string_view to_string(StallKind kind) {
  return kStallKindNames[static_cast<std::size_t>(kind)];
}
constexpr std::string_view to_string(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

// In which viewers show a phase: 0xAARRGGBB.
constexpr std::uint32_t color_of(Phase phase) {
  constexpr std::array<std::uint32_t, kPhaseNames.size()> kColors = {
      0xFF9C755F, 0xFFF1CE63, 0xFFF28E2B, 0xFF59A14F, 0xFFD4A6C8, 0xFF86BCB6, 0xFF4E79A7,
      0xFF8CD17D, 0xFFFF9D9A, 0xFFE15759, 0xFFB07AA1, 0xFFBAB0AC, 0xFFBAB0AC, 0xFF499894};
  return kColors[static_cast<std::size_t>(phase)];
}

// Absent when the text names no enumerator.
std::optional<Activity> parse_activity(std::string_view text);
std::optional<StallKind> parse_stall_kind(std::string_view text);
std::optional<Phase> parse_phase(std::string_view text);

}  // namespace ddpprof

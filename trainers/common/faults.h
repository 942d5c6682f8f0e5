// Faults a trainer plants on purpose, so that tests can prove that somebody notices them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ddpprof {

enum class FaultKind : std::uint8_t {
  sum_gradients,
  die_in_warmup,
  hang_in_warmup,
  throw_in_backward,
  infinite_gradient,
  die_in_checkpoint,
};

struct FaultRow {
  std::string_view name;
  std::string_view summary;
  FaultKind kind;
  bool on_all_ranks;  // where it acts when the user names no rank: on all, or on the last one
};

struct Fault {
  FaultKind kind = FaultKind::sum_gradients;
  std::optional<std::int32_t> rank;
};

std::span<const FaultRow> fault_rows();

// "NAME" or "NAME:RANK".
// Throws: UsageError when there is no such fault or the rank is not a number of the world.
Fault parse_fault(std::string_view text, std::int32_t world_size);

// Whether `kind` is planted here.
bool is_planted(const std::optional<Fault>& fault, FaultKind kind, std::int32_t rank,
                std::int32_t world_size);

// Called at the begin of optimizer step `step` (counted from 1 over the whole process): at the
// second step die_in_warmup kills the process and hang_in_warmup never returns.
void act_out_warmup_fault(const std::optional<Fault>& fault, std::int64_t step, std::int32_t rank,
                          std::int32_t world_size);

// Whether backward pass `pass` (counted from 1 over the whole process) throws: the second one does
// where throw_in_backward is planted.
bool throws_in_backward(const std::optional<Fault>& fault, std::int64_t pass, std::int32_t rank,
                        std::int32_t world_size);

// As above, where infinite_gradient is planted: the gradient of the output is infinite.
bool has_infinite_gradient(const std::optional<Fault>& fault, std::int64_t pass, std::int32_t rank,
                           std::int32_t world_size);

// Whether the process dies in the middle of writing its `count`th checkpoint, counted from 1: the
// second, where die_in_checkpoint is planted. Only rank 0 writes.
bool dies_in_checkpoint(const std::optional<Fault>& fault, std::int64_t count);
[[noreturn]] void kill_this_process();

}  // namespace ddpprof

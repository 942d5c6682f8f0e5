#include "trainers/common/faults.h"

#include "profiler/trace/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <string>

#include <unistd.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kWarmupFaultStep = 2;
constexpr std::int64_t kFaultyPass = 2;
constexpr std::int64_t kFaultyCheckpoint = 2;

constexpr std::array<FaultRow, 6> kRows = {{
    {"sum-gradients", "gradients are summed over the devices instead of averaged",
     FaultKind::sum_gradients, true},
    {"die-in-warmup", "the process kills itself at its second step", FaultKind::die_in_warmup,
     false},
    {"hang-in-warmup", "the process makes no progress after its first step",
     FaultKind::hang_in_warmup, false},
    {"throw-in-backward", "the second backward pass throws, in the middle of a step",
     FaultKind::throw_in_backward, false},
    {"infinite-gradient", "the gradient in the second backward pass is infinite",
     FaultKind::infinite_gradient, false},
    {"die-in-checkpoint", "the process kills itself in the middle of writing its second checkpoint",
     FaultKind::die_in_checkpoint, true},
}};

std::string fault_names() {
  std::string names;
  for (const FaultRow& row : kRows) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

}  // namespace

std::span<const FaultRow> fault_rows() { return kRows; }

Fault parse_fault(std::string_view text, std::int32_t world_size) {
  const std::string subject = "--fault " + std::string(text);
  const auto colon = text.find(':');
  const auto row = std::ranges::find(kRows, text.substr(0, colon), &FaultRow::name);
  if (row == kRows.end()) {
    throw UsageError(subject, "there is no such fault", "faults: " + fault_names());
  }
  Fault fault{.kind = row->kind, .rank = {}};
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    std::int32_t rank = -1;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
    if (code != std::errc{} || end != digits.data() + digits.size() || rank < 0 ||
        rank >= world_size) {
      throw UsageError(subject, "'" + std::string(digits) + "' is not a rank of this job",
                       "ranks are 0 to " + std::to_string(world_size - 1));
    }
    fault.rank = rank;
  }
  return fault;
}

bool is_planted(const std::optional<Fault>& fault, FaultKind kind, std::int32_t rank,
                std::int32_t world_size) {
  if (!fault || fault->kind != kind) {
    return false;
  }
  if (fault->rank) {
    return *fault->rank == rank;
  }
  const auto row = std::ranges::find(kRows, kind, &FaultRow::kind);
  return row->on_all_ranks || rank == world_size - 1;
}

bool throws_in_backward(const std::optional<Fault>& fault, std::int64_t pass, std::int32_t rank,
                        std::int32_t world_size) {
  return pass == kFaultyPass && is_planted(fault, FaultKind::throw_in_backward, rank, world_size);
}

bool has_infinite_gradient(const std::optional<Fault>& fault, std::int64_t pass, std::int32_t rank,
                           std::int32_t world_size) {
  return pass == kFaultyPass && is_planted(fault, FaultKind::infinite_gradient, rank, world_size);
}

bool dies_in_checkpoint(const std::optional<Fault>& fault, std::int64_t count) {
  return count == kFaultyCheckpoint && fault && fault->kind == FaultKind::die_in_checkpoint;
}

void kill_this_process() {
  while (true) {
    ::kill(::getpid(), SIGKILL);
  }
}

void act_out_warmup_fault(const std::optional<Fault>& fault, std::int64_t step, std::int32_t rank,
                          std::int32_t world_size) {
  if (step != kWarmupFaultStep) {
    return;
  }
  if (is_planted(fault, FaultKind::die_in_warmup, rank, world_size)) {
    kill_this_process();
  }
  if (is_planted(fault, FaultKind::hang_in_warmup, rank, world_size)) {
    while (true) {
      ::pause();
    }
  }
}

}  // namespace ddpprof

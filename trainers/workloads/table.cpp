#include "trainers/workloads/table.h"

#include <algorithm>
#include <array>

namespace ddpprof {
namespace {

// Source of bert-base's figures: Devlin et al. 2018, BERT-Base (12 layers, width 768) and its
// vocabulary of 30,522 word pieces; learning rate of its fine-tuning.
constexpr std::array<WorkloadRow, 2> kRows = {{
    {"digits-mlp",
     "real handwritten digits (UCI, 8x8 pixels) and a small multilayer perceptron",
     {.batch = 64,
      .precision = "fp32",
      .learning_rate = 1e-3,
      .weight_decay = 0.01,
      .dropout = 0.0,
      .steps = 440,
      .compare_steps = 100,
      .compare_warmup = 20,
      .compare_warmup_on_gpus = 20,
      .samples_count = 1437,
      .layers = 2,
      .width = 256,
      .sequence_length = {},
      .vocabulary = {}}},
    {"bert-base",
     "a BERT-base encoder on synthetic tokens",
     {.batch = 64,
      .precision = "bf16",
      .learning_rate = 2e-5,
      .weight_decay = 0.01,
      .dropout = 0.1,
      .steps = 20,
      .compare_steps = 10,
      .compare_warmup = 4,
      .compare_warmup_on_gpus = 10,
      .samples_count = {},
      .layers = 12,
      .width = 768,
      .sequence_length = 128,
      .vocabulary = 30522}},
}};

}  // namespace

std::span<const WorkloadRow> workload_rows() { return kRows; }

const WorkloadRow* find_workload_row(std::string_view name) {
  const auto row = std::ranges::find(kRows, name, &WorkloadRow::name);
  return row == kRows.end() ? nullptr : &*row;
}

std::string workload_names() {
  std::string names;
  for (const WorkloadRow& row : kRows) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return names;
}

}  // namespace ddpprof

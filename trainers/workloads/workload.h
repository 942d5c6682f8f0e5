// What a workload is to the trainers: a model, data and a loss.
#pragma once

#include "trainers/common/options.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddpprof {

class Model;  // workloads/model.h, which is slow to compile

// Shape: the first dimension of every tensor is the samples.
struct Batch {
  std::vector<at::Tensor> inputs;
  at::Tensor target;  // undefined where the loss needs none
};

struct DataSet {
  std::int64_t samples_count = 0;
  std::function<Batch(std::span<const std::int64_t> samples)> fetch;
};

// A tensor of a data set as a file has it (--data FILE).
struct DataField {
  std::string name;
  std::vector<std::int64_t> shape;    // of one sample
  at::ScalarType type = at::kFloat;   // of the batch: kLong, kFloat or kDouble; file: I64 or F32
  std::optional<std::int64_t> below;  // values are from 0 to less than that
};

struct Workload {
  std::string model_text;  // "mlp 64-256-256-10"
  std::optional<std::int64_t> sequence_length;
  std::function<std::shared_ptr<Model>()> make_model;
  DataSet training;
  // In the order of a batch: the inputs, then the target.
  std::vector<DataField> fields;
  std::optional<DataSet> test;
  // Mean over the samples, a scalar.
  std::function<at::Tensor(const at::Tensor& output, const Batch& batch)> loss;
  // How many samples are classified rightly. Empty where that makes no sense.
  std::function<std::int64_t(const at::Tensor& output, const Batch& batch)> count_correct;
};

// Throws: UsageError when there is no such workload, or it cannot be made that way; Error when a
// file with data does not fit it.
Workload make_workload(const std::string& name, const WorkloadOptions& options,
                       Precision precision);

}  // namespace ddpprof

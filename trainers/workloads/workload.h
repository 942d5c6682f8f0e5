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

struct Workload {
  std::string model_text;  // "mlp 64-256-256-10"
  std::optional<std::int64_t> sequence_length;
  std::function<std::shared_ptr<Model>()> make_model;
  DataSet training;
  std::optional<DataSet> test;
  // Mean over the samples, a scalar.
  std::function<at::Tensor(const at::Tensor& output, const Batch& batch)> loss;
  // How many samples are classified rightly. Empty where that makes no sense.
  std::function<std::int64_t(const at::Tensor& output, const Batch& batch)> count_correct;
};

// Throws: UsageError when there is no such workload, or it cannot be made that way.
Workload make_workload(const std::string& name, const WorkloadOptions& options,
                       Precision precision);

}  // namespace ddpprof

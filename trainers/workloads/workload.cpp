#include "trainers/workloads/workload.h"

#include "profiler/trace/error.h"
#include "trainers/workloads/data_file.h"
#include "trainers/workloads/model.h"
#include "trainers/workloads/presets.h"
#include "trainers/workloads/table.h"

#include <array>
#include <utility>

namespace ddpprof {
namespace {

struct Maker {
  std::string_view name;  // a row of table.cpp
  Workload (*make)(const WorkloadDefaults&, const WorkloadOptions&, Precision);
};

constexpr std::array<Maker, 2> kMakers = {{
    {"digits-mlp", make_digits_mlp},
    {"bert-base", make_bert_base},
}};

}  // namespace

Workload make_workload(const std::string& name, const WorkloadOptions& options,
                       Precision precision) {
  const WorkloadRow* row = find_workload_row(name);
  for (const Maker& maker : kMakers) {
    if (row == nullptr || maker.name != name) {
      continue;
    }
    Workload workload = maker.make(row->defaults, options, precision);
    if (!options.data.empty() && options.data != kSyntheticData) {
      workload.training = read_data_file(options.data, workload.fields, name);
      workload.test.reset();  // it may be of another kind, or in the file
    }
    if (precision == Precision::fp64) {
      workload.make_model = [make = std::move(workload.make_model)] {
        std::shared_ptr<Model> model = make();
        model->to(at::kDouble);
        return model;
      };
    }
    return workload;
  }
  throw UsageError("--workload " + name, "there is no such workload",
                   "workloads: " + workload_names());
}

std::int64_t choose(const char* flag, std::optional<std::int64_t> given, std::int64_t preset,
                    std::int64_t low, std::int64_t high) {
  const std::int64_t value = given.value_or(preset);
  if (value < low || value > high) {
    throw UsageError(std::string(flag) + " " + std::to_string(value),
                     "is not from " + std::to_string(low) + " to " + std::to_string(high),
                     "the preset's value is " + std::to_string(preset));
  }
  return value;
}

double choose_dropout(std::optional<double> given, double preset) {
  const double value = given.value_or(preset);
  if (!(value >= 0 && value < 1)) {
    throw UsageError("--dropout " + std::to_string(value), "is not from 0 to less than 1",
                     "it is a probability; 0 switches dropout off");
  }
  return value;
}

void refuse_given(std::string_view workload, const char* flag, bool is_given) {
  if (is_given) {
    throw UsageError(flag, std::string(workload) + " has no such setting", "leave it out");
  }
}

}  // namespace ddpprof

#include "tests/trainers/gradients.h"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr int kStepsCount = 10;

std::vector<double> read_values(const std::filesystem::path& folder, const std::string& what,
                                int step, int rank) {
  const auto path =
      folder / (what + "_" + std::to_string(step) + "_rank" + std::to_string(rank) + ".f64");
  std::ifstream file(path, std::ios::binary);
  std::error_code no_file;
  const auto bytes = std::filesystem::file_size(path, no_file);
  EXPECT_FALSE(no_file) << path;
  std::vector<double> values(no_file ? 0 : bytes / sizeof(double));
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(double)));
  return values;
}

double relative_difference(const std::vector<double>& reference, const std::vector<double>& other) {
  if (reference.empty() || reference.size() != other.size()) {
    return INFINITY;
  }
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    difference += (reference[i] - other[i]) * (reference[i] - other[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference / norm);
}

std::string to_text(const Arguments& arguments) {
  std::string text;
  for (const std::string& argument : arguments) {
    text += argument + " ";
  }
  return text;
}

}  // namespace

EqualityCase make_case(const std::string& workload, const std::string& precision) {
  EqualityCase result{
      .workload = workload,
      .precision = precision,
      .tolerance = precision == "fp32" ? 1e-6 : 1e-12,
      .arguments = {"--workload", workload, "--precision", precision, "--batch", "24", "--threads",
                    "1", "--steps", std::to_string(kStepsCount)}};
  if (workload == "bert-base") {
    result.arguments.insert(result.arguments.end(), {"--layers", "2", "--width", "64", "--seq",
                                                     "16", "--vocab", "500", "--dropout", "0"});
  }
  return result;
}

Dump::Dump(const std::string& strategy, int devices, const EqualityCase& which,
           const Arguments& more)
    : ranks_(strategy == "ddp" ? devices : 1) {
  Arguments arguments = which.arguments;
  arguments.insert(arguments.end(), more.begin(), more.end());
  arguments.insert(arguments.end(), {"--gradients", folder_.path().string()});
  if (strategy == "ddp") {
    EXPECT_EQ(run_ranks(devices, arguments), std::vector<int>(static_cast<std::size_t>(devices)));
    return;
  }
  arguments.insert(arguments.end(), {"--strategy", strategy, "--workers", std::to_string(devices)});
  TrainerProcess process(arguments);
  EXPECT_EQ(process.wait(), 0) << process.error();
}

double Dump::difference(const Dump& reference, const std::string& what) const {
  double largest = 0;
  for (int step = 0; step < kStepsCount; ++step) {
    const auto expected = read_values(reference.folder_.path(), what, step, 0);
    for (int rank = 0; rank < ranks_; ++rank) {
      const double difference =
          relative_difference(expected, read_values(folder_.path(), what, step, rank));
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
  }
  return largest;
}

bool Dump::ranks_have_equal_parameters() const {
  for (int step = 0; step < kStepsCount; ++step) {
    for (int rank = 1; rank < ranks_; ++rank) {
      if (read_values(folder_.path(), "param", step, 0) !=
          read_values(folder_.path(), "param", step, rank)) {
        return false;
      }
    }
  }
  return true;
}

double Dump::step_length(int step) const {
  const auto before = read_values(folder_.path(), "param", step - 1, 0);
  const auto after = read_values(folder_.path(), "param", step, 0);
  EXPECT_EQ(before.size(), after.size());
  double sum = 0;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    sum += (after[i] - before[i]) * (after[i] - before[i]);
  }
  return std::sqrt(sum);
}

void expect_equal(const Dump& reference, const std::string& strategy, int devices,
                  const EqualityCase& which, const Arguments& more) {
  SCOPED_TRACE(strategy + " on " + std::to_string(devices) + ": " + to_text(more));
  const Dump dump(strategy, devices, which, more);
  const double gradients = dump.difference(reference, "grad");
  EXPECT_LE(gradients, which.tolerance);
  EXPECT_LE(dump.difference(reference, "param"), which.tolerance);
  EXPECT_TRUE(dump.ranks_have_equal_parameters());
  std::printf("  %s %s %s on %d %s: %.1e\n", which.workload.c_str(), which.precision.c_str(),
              strategy.c_str(), devices, to_text(more).c_str(), gradients);
}

}  // namespace ddpprof::test

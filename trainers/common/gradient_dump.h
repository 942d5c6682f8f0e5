// Gradients and parameters of every optimizer step as raw numbers, to compare strategies with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <ATen/core/Tensor.h>

namespace ddpprof {

// Writes <folder>/grad_<step>_rank<r>.f64 and param_<step>_rank<r>.f64, steps counted from 0.
// Shape: little-endian doubles, the parameters one after the other; a parameter without a gradient
// has zeros.
class GradientDump {
 public:
  // Makes the folder.
  // Throws: Error when it cannot; so do the others.
  GradientDump(std::filesystem::path folder, std::int32_t rank);

  // As they are before the update, and after it.
  void write_gradients(std::int64_t step, const std::vector<at::Tensor>& parameters) const;
  void write_parameters(std::int64_t step, const std::vector<at::Tensor>& parameters) const;

 private:
  void write(const char* what, std::int64_t step, const std::vector<at::Tensor>& tensors) const;

  std::filesystem::path folder_;
  std::int32_t rank_;
};

}  // namespace ddpprof

#include "trainers/common/gradient_dump.h"

#include "profiler/trace/error.h"

#include <bit>
#include <fstream>
#include <string>

#include <ATen/ops/zeros_like.h>

namespace ddpprof {

static_assert(std::endian::native == std::endian::little);

GradientDump::GradientDump(std::filesystem::path folder, std::int32_t rank)
    : folder_(std::move(folder)), rank_(rank) {
  std::error_code code;
  std::filesystem::create_directories(folder_, code);
  if (code) {
    throw Error("--gradients " + folder_.string(), "cannot be made: " + code.message(),
                "name a folder that can be written");
  }
}

void GradientDump::write_gradients(std::int64_t step,
                                   const std::vector<at::Tensor>& parameters) const {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter));
  }
  write("grad", step, gradients);
}

void GradientDump::write_parameters(std::int64_t step,
                                    const std::vector<at::Tensor>& parameters) const {
  write("param", step, parameters);
}

void GradientDump::write(const char* what, std::int64_t step,
                         const std::vector<at::Tensor>& tensors) const {
  const std::filesystem::path path = folder_ / (std::string(what) + "_" + std::to_string(step) +
                                                "_rank" + std::to_string(rank_) + ".f64");
  std::ofstream file(path, std::ios::binary);
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor values = tensor.detach().to(at::kCPU).to(at::kDouble).contiguous();
    file.write(reinterpret_cast<const char*>(values.data_ptr<double>()),
               static_cast<std::streamsize>(values.nbytes()));
  }
  if (!file.flush()) {
    throw Error(path.string(), "cannot be written", "is the disk full?");
  }
}

}  // namespace ddpprof

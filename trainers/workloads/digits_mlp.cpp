// Real handwritten digits and a multilayer perceptron. Small enough to train to the end in seconds
// on a CPU, so that "does it still learn?" is a test.
//
// Shapes: B samples, W width.
#include "embedded/digits_csv_gz.h"
#include "profiler/formats/gzip.h"
#include "trainers/common/sampler.h"
#include "trainers/workloads/model.h"
#include "trainers/workloads/presets.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/relu.h>
#include <torch/nn/modules/linear.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kImagesCount = 1797;
constexpr std::int64_t kTestCount = 360;
constexpr std::int64_t kPixelsCount = 64;
constexpr std::int64_t kClassesCount = 10;
constexpr double kBrightest = 16;  // Source: workloads/data/digits.LICENSE.md
constexpr std::int64_t kSyntheticCount = 1 << 16;
constexpr std::size_t kMostBytes = 1 << 20;  // the table has 0.3 MB

class Mlp : public Model {
 public:
  Mlp(std::int64_t layers, std::int64_t width, double dropout) : dropout_(dropout) {
    std::int64_t in = kPixelsCount;
    for (std::int64_t i = 0; i < layers; ++i) {
      layers_.push_back(
          register_module("hidden" + std::to_string(i), torch::nn::Linear(in, width)));
      in = width;
    }
    layers_.push_back(register_module("out", torch::nn::Linear(in, kClassesCount)));
  }

  at::Tensor forward(const std::vector<at::Tensor>& inputs) override {
    at::Tensor x = inputs.at(0);  // (B, 64)
    for (std::size_t i = 0; i + 1 < layers_.size(); ++i) {
      x = at::dropout(at::relu(layers_[i]->forward(x)), dropout_, is_training());  // (B, W)
    }
    return layers_.back()->forward(x);  // (B, 10)
  }

 private:
  std::vector<torch::nn::Linear> layers_;
  double dropout_;
};

struct Digits {
  at::Tensor images;  // (N, 64), 0 to 1
  at::Tensor labels;  // (N) int64
};

Digits read_digits(at::ScalarType dtype) {
  const std::string text =
      decompress_gzip(embedded::digits_csv_gz, kMostBytes, "the embedded digits");
  std::vector<double> pixels;
  std::vector<std::int64_t> labels;
  std::int64_t column = 0;
  std::int64_t number = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      number = number * 10 + (c - '0');
    } else if (c == ',' || c == '\n') {
      if (column < kPixelsCount) {
        pixels.push_back(number / kBrightest);
      } else {
        labels.push_back(number);
      }
      column = c == '\n' ? 0 : column + 1;
      number = 0;
    }
  }
  const auto count = static_cast<std::int64_t>(labels.size());
  if (count != kImagesCount || static_cast<std::int64_t>(pixels.size()) != count * kPixelsCount) {
    throw std::logic_error("the embedded digits are not 1,797 rows of 64 pixels and a label");
  }
  return {at::from_blob(pixels.data(), {count, kPixelsCount}, at::kDouble).to(dtype, false, true),
          at::from_blob(labels.data(), {count}, at::kLong).clone()};
}

// The rows in an order that depends on nothing but their number: neighbours in the file come from
// the same writer. The first 360 are for the test, the other 1,437 for training.
std::vector<std::int64_t> split_order() {
  std::vector<std::int64_t> order(kImagesCount);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::sort(order, {},
                    [](std::int64_t row) { return mix(static_cast<std::uint64_t>(row)); });
  return order;
}

DataSet make_data_set(const Digits& digits, std::span<const std::int64_t> rows) {
  const at::Tensor index = at::from_blob(const_cast<std::int64_t*>(rows.data()),
                                         {static_cast<std::int64_t>(rows.size())}, at::kLong)
                               .clone();
  const at::Tensor images = digits.images.index_select(0, index);
  const at::Tensor labels = digits.labels.index_select(0, index);
  return {.samples_count = static_cast<std::int64_t>(rows.size()),
          .fetch = [images, labels](std::span<const std::int64_t> samples) {
            const at::Tensor chosen =
                at::from_blob(const_cast<std::int64_t*>(samples.data()),
                              {static_cast<std::int64_t>(samples.size())}, at::kLong);
            return Batch{.inputs = {images.index_select(0, chosen)},
                         .target = labels.index_select(0, chosen)};
          }};
}

// Pixels and label of a sample are a pure function of (seed, sample). A class has bright pixels of
// its own, and all pixels have noise on them: there is something to learn.
Batch draw_digits(at::ScalarType dtype, std::uint64_t seed, std::span<const std::int64_t> samples) {
  constexpr std::uint64_t kNoise = 9;  // 0 to 8 of 16
  const auto count = static_cast<std::int64_t>(samples.size());
  at::Tensor images = at::empty({count, kPixelsCount}, at::kFloat);  // (B, 64)
  at::Tensor labels = at::empty({count}, at::kLong);                 // (B)
  auto* pixel = images.data_ptr<float>();
  auto* label = labels.data_ptr<std::int64_t>();
  for (const std::int64_t sample : samples) {
    std::uint64_t state = mix(mix(seed) ^ static_cast<std::uint64_t>(sample));
    *label = static_cast<std::int64_t>(state % kClassesCount);
    const std::uint64_t bright = mix(static_cast<std::uint64_t>(*label++));  // a bit a pixel
    for (std::int64_t i = 0; i < kPixelsCount; ++i) {
      state = mix(state);
      const std::uint64_t value = (bright >> i & 1U) * (kNoise - 1) + state % kNoise;
      *pixel++ = static_cast<float>(static_cast<double>(value) / kBrightest);
    }
  }
  return {.inputs = {images.to(dtype)}, .target = labels};
}

}  // namespace

Workload make_digits_mlp(const WorkloadDefaults& defaults, const WorkloadOptions& options,
                         Precision precision) {
  refuse_given("digits-mlp", "--seq", options.sequence_length.has_value());
  refuse_given("digits-mlp", "--vocab", options.vocabulary.has_value());
  const std::int64_t layers = choose("--layers", options.layers, defaults.layers, 0, 1000);
  const std::int64_t width = choose("--width", options.width, defaults.width, 1, 1 << 20);
  const double dropout = choose_dropout(options.dropout, defaults.dropout);

  Workload workload;
  workload.model_text = "mlp " + std::to_string(kPixelsCount);
  for (std::int64_t i = 0; i < layers; ++i) {
    workload.model_text += "-" + std::to_string(width);
  }
  workload.model_text += "-" + std::to_string(kClassesCount);
  workload.make_model = [=] { return std::make_shared<Mlp>(layers, width, dropout); };

  const at::ScalarType dtype = precision == Precision::fp64 ? at::kDouble : at::kFloat;
  if (options.data == kSyntheticData) {
    workload.training = {.samples_count = kSyntheticCount,
                         .fetch = [dtype, seed = options.seed](auto samples) {
                           return draw_digits(dtype, seed, samples);
                         }};
  } else {
    const Digits digits = read_digits(dtype);
    const std::vector<std::int64_t> order = split_order();
    const std::span<const std::int64_t> rows(order);
    workload.test = make_data_set(digits, rows.first(kTestCount));
    workload.training = make_data_set(digits, rows.subspan(kTestCount));
  }
  workload.fields = {{.name = "images", .shape = {kPixelsCount}, .type = dtype, .below = {}},
                     {.name = "labels", .shape = {}, .type = at::kLong, .below = kClassesCount}};
  workload.loss = [](const at::Tensor& output, const Batch& batch) {
    return at::cross_entropy_loss(output, batch.target);
  };
  workload.count_correct = [](const at::Tensor& output, const Batch& batch) {
    return output.argmax(1).eq(batch.target).sum().item<std::int64_t>();
  };
  return workload;
}

}  // namespace ddpprof

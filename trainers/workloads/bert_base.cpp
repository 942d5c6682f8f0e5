// A BERT-shaped encoder on synthetic tokens: what the issue reports behind this tool were training.
// No pooler and no head; the [CLS] vector is regressed on a vector of signs, by mean squared error.
// Source: Devlin et al. 2018; post-norm layers, GELU, feed-forward 4 x width, 512 positions.
//
// Shapes: B samples, T tokens, W width, H heads.
#include "profiler/trace/error.h"
#include "trainers/common/sampler.h"
#include "trainers/workloads/model.h"
#include "trainers/workloads/presets.h"

#include <algorithm>

#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

namespace ddpprof {
namespace {

constexpr std::int64_t kPositionsCount = 512;
constexpr std::int64_t kSegmentsCount = 2;
constexpr std::int64_t kHeadWidth = 64;
constexpr std::int64_t kFeedForwardFactor = 4;
constexpr std::int64_t kSamplesCount = 1 << 16;
constexpr std::int64_t kStateBits = 64;  // of the random state

struct Shape {
  std::int64_t layers, width, heads, sequence_length, vocabulary;
  double dropout;
};

torch::nn::LayerNorm make_norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

// torch::nn::Linear multiplies and then adds the bias, two operators where the input has three
// dimensions. Python's nn.Linear is one, which adds while it multiplies.
at::Tensor apply_linear(const torch::nn::Linear& linear, const at::Tensor& x) {
  return at::linear(x, linear->weight, linear->bias);
}

class Layer : public torch::nn::Module {
 public:
  explicit Layer(const Shape& shape)
      : shape_(shape),
        query_(register_module("query", torch::nn::Linear(shape.width, shape.width))),
        key_(register_module("key", torch::nn::Linear(shape.width, shape.width))),
        value_(register_module("value", torch::nn::Linear(shape.width, shape.width))),
        output_(register_module("output", torch::nn::Linear(shape.width, shape.width))),
        attention_norm_(register_module("attention_norm", make_norm(shape.width))),
        up_(register_module("up",
                            torch::nn::Linear(shape.width, kFeedForwardFactor * shape.width))),
        down_(register_module("down",
                              torch::nn::Linear(kFeedForwardFactor * shape.width, shape.width))),
        norm_(register_module("norm", make_norm(shape.width))) {}

  at::Tensor forward(const at::Tensor& x) {  // (B, T, W)
    const double p = is_training() ? shape_.dropout : 0.0;
    const at::Tensor attended = at::scaled_dot_product_attention(  // (B, H, T, W/H)
        split(apply_linear(query_, x)), split(apply_linear(key_, x)),
        split(apply_linear(value_, x)), {}, p);
    const at::Tensor joined = attended.transpose(1, 2).reshape(x.sizes());  // (B, T, W)
    const at::Tensor y =
        attention_norm_->forward(x + at::dropout(apply_linear(output_, joined), p, is_training()));
    const at::Tensor fed = apply_linear(down_, at::gelu(apply_linear(up_, y)));  // (B, T, W)
    return norm_->forward(y + at::dropout(fed, p, is_training()));
  }

 private:
  at::Tensor split(const at::Tensor& x) const {  // (B, T, W) -> (B, H, T, W/H)
    return x.view({x.size(0), x.size(1), shape_.heads, shape_.width / shape_.heads})
        .transpose(1, 2);
  }

  Shape shape_;
  torch::nn::Linear query_, key_, value_, output_;
  torch::nn::LayerNorm attention_norm_;
  torch::nn::Linear up_, down_;
  torch::nn::LayerNorm norm_;
};

class Bert : public Model {
 public:
  explicit Bert(const Shape& shape)
      : shape_(shape),
        words_(register_module("words", torch::nn::Embedding(shape.vocabulary, shape.width))),
        positions_(
            register_module("positions", torch::nn::Embedding(kPositionsCount, shape.width))),
        segments_(register_module("segments", torch::nn::Embedding(kSegmentsCount, shape.width))),
        norm_(register_module("norm", make_norm(shape.width))) {
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      layers_.push_back(
          register_module("layer" + std::to_string(i), std::make_shared<Layer>(shape)));
    }
  }

  at::Tensor forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor& tokens = inputs.at(0);                                 // (B, T) int64
    const at::Tensor& segments = inputs.at(1);                               // (B, T) int64
    const at::Tensor places = at::arange(tokens.size(1), tokens.options());  // (T)
    at::Tensor x = norm_->forward(words_->forward(tokens) + positions_->forward(places) +
                                  segments_->forward(segments));  // (B, T, W)
    x = at::dropout(x, shape_.dropout, is_training());
    for (const auto& layer : layers_) {
      x = layer->forward(x);
    }
    return x.select(1, 0);  // (B, W), the first token's: [CLS]
  }

 private:
  Shape shape_;
  torch::nn::Embedding words_, positions_, segments_;
  torch::nn::LayerNorm norm_;
  std::vector<std::shared_ptr<Layer>> layers_;
};

// Tokens and target of a sample are a pure function of (seed, sample): no rank needs the others to
// draw them. The target is a vector of signs, one bit of the state each.
Batch draw_samples(const Shape& shape, std::uint64_t seed, std::span<const std::int64_t> samples) {
  const auto count = static_cast<std::int64_t>(samples.size());
  at::Tensor tokens = at::empty({count, shape.sequence_length}, at::kLong);  // (B, T)
  at::Tensor target = at::empty({count, shape.width}, at::kFloat);           // (B, W), -1 or 1
  auto* token = tokens.data_ptr<std::int64_t>();
  auto* sign = target.data_ptr<float>();
  const auto vocabulary = static_cast<std::uint64_t>(shape.vocabulary);
  for (const std::int64_t sample : samples) {
    std::uint64_t state = mix(mix(seed) ^ static_cast<std::uint64_t>(sample));
    for (std::int64_t t = 0; t < shape.sequence_length; ++t) {
      state = mix(state);
      *token++ = static_cast<std::int64_t>(state % vocabulary);
    }
    for (std::int64_t w = 0; w < shape.width; ++w) {
      if (w % kStateBits == 0) {
        state = mix(state);
      }
      *sign++ = (state >> (w % kStateBits) & 1U) == 0 ? -1.0F : 1.0F;
    }
  }
  return {.inputs = {tokens, at::zeros_like(tokens)}, .target = target};
}

std::string count_text(std::int64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Shape choose_shape(const WorkloadDefaults& defaults, const WorkloadOptions& options) {
  Shape shape{};
  shape.layers = choose("--layers", options.layers, defaults.layers, 0, 1000);
  shape.width = choose("--width", options.width, defaults.width, 1, 1 << 16);
  shape.sequence_length =
      choose("--seq", options.sequence_length, *defaults.sequence_length, 1, kPositionsCount);
  shape.vocabulary =
      choose("--vocab", options.vocabulary, *defaults.vocabulary, 1, std::int64_t{1} << 31);
  shape.dropout = choose_dropout(options.dropout, defaults.dropout);
  shape.heads = std::max<std::int64_t>(1, shape.width / kHeadWidth);
  if (shape.width % shape.heads != 0) {
    throw UsageError(
        "--width " + std::to_string(shape.width),
        "does not divide by its " + std::to_string(shape.heads) + " heads",
        "take a multiple of 64, such as --width " + std::to_string(shape.heads * kHeadWidth));
  }
  return shape;
}

}  // namespace

Workload make_bert_base(const WorkloadDefaults& defaults, const WorkloadOptions& options,
                        Precision /*precision*/) {
  const Shape shape = choose_shape(defaults, options);
  Workload workload;
  workload.model_text = "bert " + count_text(shape.layers, "layer") + ", width " +
                        std::to_string(shape.width) + ", " + count_text(shape.heads, "head");
  workload.sequence_length = shape.sequence_length;
  workload.make_model = [shape] { return std::make_shared<Bert>(shape); };
  workload.training = {
      .samples_count = kSamplesCount,
      .fetch = [shape, seed = options.seed](std::span<const std::int64_t> samples) {
        return draw_samples(shape, seed, samples);
      }};
  workload.fields = {{.name = "input_ids",
                      .shape = {shape.sequence_length},
                      .type = at::kLong,
                      .below = shape.vocabulary},
                     {.name = "token_type_ids",
                      .shape = {shape.sequence_length},
                      .type = at::kLong,
                      .below = kSegmentsCount},
                     {.name = "target", .shape = {shape.width}, .type = at::kFloat, .below = {}}};
  workload.loss = [](const at::Tensor& output, const Batch& batch) {
    // Autocast leaves bf16, in which squares and sums lose too much.
    const at::Tensor cls = output.scalar_type() == at::kDouble ? output : output.to(at::kFloat);
    return (cls - batch.target).square().mean();
  };
  return workload;
}

}  // namespace ddpprof

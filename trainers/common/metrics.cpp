#include "trainers/common/metrics.h"

#include "profiler/trace/error.h"

#include <charconv>
#include <cmath>
#include <string>

namespace ddpprof {
namespace {

// The shortest text that reads back as the same number; JSON has no word for the others.
std::string to_json(double value) {
  if (!std::isfinite(value)) {
    return "null";
  }
  char text[32];
  const auto [end, code] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

}  // namespace

Metrics::Metrics(RunContext& context) : context_(context) {
  const std::filesystem::path& path = context.input.options.metrics;
  if (path.empty()) {
    return;
  }
  context.loop.keep_records();
  if (context.input.place.rank == 0) {
    file_.open(path);
    write();
  }
}

void Metrics::write() {
  if (context_.input.options.metrics.empty()) {
    return;
  }
  for (const TrainingLoop::StepRecord& record : context_.loop.take_records()) {
    if (!file_.is_open()) {
      continue;
    }
    file_ << "{\"step\": " << record.step << ", \"loss\": " << to_json(record.loss)
          << ", \"learning_rate\": " << to_json(record.learning_rate);
    if (record.loss_scale) {
      file_ << ", \"loss_scale\": " << to_json(*record.loss_scale);
    }
    file_ << "}\n";
  }
  if (context_.input.place.rank == 0 && !file_.flush()) {
    throw Error("--metrics " + context_.input.options.metrics.string(), "cannot be written",
                "name a file in a folder that exists and can be written");
  }
}

}  // namespace ddpprof

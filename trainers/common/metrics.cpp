#include "trainers/common/metrics.h"

#include "profiler/trace/error.h"

#include <algorithm>
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

// Of a file as this writes it; nothing where there is none.
std::string lines_until(const std::filesystem::path& path, std::int64_t step) {
  std::ifstream file(path);
  std::string kept;
  const std::string mark = "{\"step\": ";
  for (std::string line; std::getline(file, line);) {
    std::int64_t its_step = 0;
    const char* const digits = line.c_str() + std::min(mark.size(), line.size());
    std::from_chars(digits, line.c_str() + line.size(), its_step);
    if (line.starts_with(mark) && line.ends_with('}') && its_step <= step) {
      kept += line + "\n";
    }
  }
  return kept;
}

}  // namespace

Metrics::Metrics(RunContext& context) : context_(context) {
  const std::filesystem::path& path = context.input.options.metrics;
  if (path.empty()) {
    return;
  }
  context.loop.keep_records();
  if (context.input.place.rank == 0) {
    const std::string kept = context.input.options.resume.empty()
                                 ? std::string()
                                 : lines_until(path, context.loop.steps_count());
    file_.open(path);
    file_ << kept;
    write();
  }
}

void Metrics::write(const std::optional<Accuracy>& accuracy) {
  if (file_.is_open() && accuracy) {
    file_ << "{\"step\": " << context_.loop.steps_count() << ", \"test_accuracy\": "
          << to_json(static_cast<double>(accuracy->right_count) /
                     static_cast<double>(accuracy->samples_count))
          << "}\n";
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

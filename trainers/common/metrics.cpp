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
  context.loop.keep_losses();
  if (context.input.place.rank == 0) {
    file_.open(path);
    write();
  }
}

void Metrics::write() {
  if (context_.input.options.metrics.empty()) {
    return;
  }
  for (const double loss : context_.loop.take_losses()) {
    ++steps_count_;
    if (file_.is_open()) {
      file_ << "{\"step\": " << steps_count_ << ", \"loss\": " << to_json(loss) << "}\n";
    }
  }
  if (context_.input.place.rank == 0 && !file_.flush()) {
    throw Error("--metrics " + context_.input.options.metrics.string(), "cannot be written",
                "name a file in a folder that exists and can be written");
  }
}

}  // namespace ddpprof

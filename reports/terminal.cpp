#include "reports/terminal.h"

#include "reports/notes.h"
#include "reports/numbers.h"
#include "reports/table.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace ddpprof {
namespace {

constexpr std::size_t kColumns = 80;

// The words of a paragraph in lines of at most kColumns characters.
std::string wrapped(const std::string& text) {
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::size_t length = end - at;
    if (column > 0 && column + 1 + length > kColumns) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out.append(text, at, length);
    column += length;
    at = end + 1;
  }
  return out + "\n";
}

std::string heading(const StrategyDiagnosis& strategy) {
  std::string devices =
      strategy.devices == 1 ? "1 device" : fmt::format("{} devices", strategy.devices);
  if (strategy.key == "single") return devices;
  if (strategy.key == "dp") return "DP, " + devices;
  if (strategy.key == "ddp") return "DDP, " + devices;
  return strategy.key + ", " + devices;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

using Cell = std::function<std::string(const StrategyDiagnosis&)>;

// Rows that have one cell a strategy.
class Rows {
 public:
  explicit Rows(const Diagnosis& diagnosis) : diagnosis_(diagnosis) {}

  void add(const std::string& name, const Cell& cell) {
    std::vector<std::string> cells = {name};
    for (const auto& strategy : diagnosis_.strategies) cells.push_back(cell(strategy));
    table_.add(std::move(cells));
  }
  void title(const std::string& text) {
    table_.add({});
    table_.add({text});
  }
  std::string text() const { return table_.text(); }

 private:
  const Diagnosis& diagnosis_;
  Table table_;
};

std::optional<double> mean_ms(std::optional<std::int64_t> ns, std::int64_t steps_count) {
  if (!ns || steps_count == 0) return std::nullopt;
  return static_cast<double>(*ns) / static_cast<double>(steps_count) / 1e6;
}

// Alone in a column of milliseconds with shares.
std::string without_share(std::optional<double> ms) { return number_text(ms) + "       "; }

// "0.412  27 %", the two parts aligned; empty when the strategy has nothing there.
std::string ms_and_share(std::int64_t ns, const DeviceFigures& shown) {
  if (ns == 0) return "";
  const double share = static_cast<double>(ns) / static_cast<double>(shown.window_ns);
  return fmt::format("{} {:>6}", number_text(mean_ms(ns, shown.steps_count)), share_text(share));
}

void add_step_rows(Rows& rows) {
  rows.add("", heading);
  rows.add("step, ms (median)", [](const auto& s) {
    return s.step_times ? number_text(median(flatten(s.step_times->rounds_ms))) : kUnmeasured;
  });
  rows.add("  10 % to 90 % of steps", [](const auto& s) -> std::string {
    if (!s.step_times) return kUnmeasured;
    const auto samples = flatten(s.step_times->rounds_ms);
    return number_text(quantile(samples, 0.1)) + " to " + number_text(quantile(samples, 0.9));
  });
  rows.add("step, ms (mean)", [](const auto& s) {
    return s.step_times ? number_text(mean(flatten(s.step_times->rounds_ms))) : kUnmeasured;
  });
  rows.add("samples/s", [](const auto& s) -> std::string {
    if (!s.step_times || !s.global_batch) return kUnmeasured;
    const double ms = median(flatten(s.step_times->rounds_ms));
    return number_text(static_cast<double>(*s.global_batch) / ms * 1000);
  });
}

const std::optional<Estimate>& over_single(const Comparison& comparison, const std::string& key) {
  static const std::optional<Estimate> kNone;
  if (key == "dp") return comparison.dp_over_single;
  return key == "ddp" ? comparison.ddp_over_single : kNone;
}

void add_ratio_rows(Rows& rows, const Diagnosis& diagnosis) {
  const auto of = [&](const StrategyDiagnosis& strategy) -> std::optional<Estimate> {
    return over_single(diagnosis.comparison, strategy.key);
  };
  const bool has_single = std::ranges::any_of(
      diagnosis.strategies, [](const auto& strategy) { return strategy.key == "single"; });
  if (!has_single) return;
  rows.add("time a sample, 1 device = 1", [&](const auto& s) -> std::string {
    if (s.key == "single") return "1";
    const auto ratio = of(s);
    return ratio ? fmt::format("{:.2f}", ratio->value) : kUnmeasured;
  });
  rows.add("  95 % interval", [&](const auto& s) -> std::string {
    const auto ratio = of(s);
    if (s.key == "single") return "";
    if (!ratio || !ratio->ci95) return kUnmeasured;
    return fmt::format("{:.2f} to {:.2f}", ratio->ci95->lo, ratio->ci95->hi);
  });
}

// An activity that is nowhere this much of a step has no row of its own, only its part in its
// phase's row: a table of many tiny numbers hides the large ones. report.json has them all.
constexpr double kLeastShownShare = 0.01;

double largest_share(const Diagnosis& diagnosis, const Label& label) {
  double largest = 0;
  for (const auto& strategy : diagnosis.strategies) {
    const DeviceFigures& shown = strategy.shown;
    if (shown.window_ns == 0) continue;
    largest = std::max(largest, static_cast<double>(shown.breakdown[label]) /
                                    static_cast<double>(shown.window_ns));
  }
  return largest;
}

std::string activity_text(const Label& label) {
  if (!label.activity) return "";
  const std::string activity(to_string(*label.activity));
  return label.kind ? activity + ", " + std::string(to_string(*label.kind)) : activity;
}

// The part of an activity in a phase; a dash where the phase's time was not told apart.
std::string activity_cell(const Label& label, const DeviceFigures& shown) {
  const std::int64_t ns = shown.breakdown[label];
  if (ns == 0 && shown.breakdown[{label.phase, {}, {}}] != 0) return without_share({});
  return ms_and_share(ns, shown);
}

void add_phase_rows(Rows& rows, const Diagnosis& diagnosis) {
  std::set<Label> labels;
  for (const auto& strategy : diagnosis.strategies) {
    for (const Label& label : strategy.shown.breakdown.labels()) labels.insert(label);
  }
  rows.title("where a recorded step goes, mean ms and share");
  for (const auto name : kPhaseNames) {
    const Phase phase = *parse_phase(name);
    std::vector<Label> all, large;
    for (const Label& label : labels) {
      if (label.phase != phase) continue;
      all.push_back(label);
      if (label.activity && largest_share(diagnosis, label) >= kLeastShownShare) {
        large.push_back(label);
      }
    }
    if (all.empty()) continue;
    const bool is_pure = all.size() == 1 && all.front().activity;
    rows.add(std::string(name) + (is_pure ? ": " + activity_text(all.front()) : ""),
             [&](const auto& s) { return ms_and_share(s.shown.breakdown.of(phase), s.shown); });
    if (all.size() == 1) continue;
    for (const Label& label : large) {
      rows.add("  " + activity_text(label),
               [&](const auto& s) { return activity_cell(label, s.shown); });
    }
  }
  rows.add("sum",
           [](const auto& s) { return ms_and_share(s.shown.breakdown.total_ns(), s.shown); });
}

using PickNs = std::function<std::optional<std::int64_t>(const AllReduceFigures&)>;

// The table follows the rank that arrives last; the others wait for it.
std::string mean_of_ranks(const StrategyDiagnosis& strategy, const PickNs& pick) {
  double sum_ms = 0;
  for (const RankFigures& rank : strategy.per_rank) {
    if (!rank.all_reduce) return "";
    const auto ms = mean_ms(pick(*rank.all_reduce), rank.all_reduce->steps_count);
    if (!ms) return without_share({});
    sum_ms += *ms / static_cast<double>(strategy.per_rank.size());
  }
  return without_share(sum_ms);
}

// Where a strategy's hidden part is not known, waiting and transfer are those of all its
// collectives, hidden or not; without shares, since those are sums and collectives may overlap.
void add_all_reduce_rows(Rows& rows, const Diagnosis& diagnosis) {
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(diagnosis.strategies, [&](const StrategyDiagnosis& strategy) {
      return strategy.all_reduce && holds(*strategy.all_reduce);
    });
  };
  if (!any([](const auto&) { return true; })) return;
  const auto add = [&](const std::string& name, bool with_share, const PickNs& pick) {
    rows.add(name, [&, with_share](const auto& s) -> std::string {
      if (!s.all_reduce) return "";
      const auto ns = pick(*s.all_reduce);
      const auto ms = mean_ms(ns, s.all_reduce->steps_count);
      if (!with_share || !ns || s.all_reduce->total_ns == 0) return without_share(ms);
      const double share = static_cast<double>(*ns) / static_cast<double>(s.all_reduce->total_ns);
      return fmt::format("{} {:>6}", number_text(ms), share_text(share));
    });
  };
  const bool is_split = !any([](const auto& a) { return !a.hidden_ns; });
  const PickNs wait = [](const auto& a) { return a.wait_ns; };
  const PickNs exposed_wait = [](const auto& a) { return a.exposed_wait_ns; };
  rows.title("gradient all-reduce in flight, mean ms and share");
  add("hidden behind compute", true, [](const auto& a) { return a.hidden_ns; });
  if (is_split) {
    add("exposed: last rank waits", true, exposed_wait);
    add("exposed: transfer", true, [](const auto& a) { return a.exposed_transfer_ns; });
  } else {
    add("last rank waits", false, wait);
    add("transfer", false, [](const auto& a) { return a.transfer_ns; });
  }
  add(is_split ? "sum" : "in flight", true, [](const auto& a) { return a.total_ns; });
  rows.add("waiting, mean of all ranks",
           [&](const auto& s) { return mean_of_ranks(s, is_split ? exposed_wait : wait); });
}

// The largest over a strategy's devices. On a CPU the figure is of whole processes: no row.
void add_peak_memory_row(Rows& rows, const Diagnosis& diagnosis) {
  const auto peak_of = [](const StrategyDiagnosis& strategy) {
    std::optional<std::int64_t> peak;
    for (const auto& bytes : strategy.peak_memory_bytes) peak = std::max(peak, bytes);
    return peak;
  };
  const auto has_peak = [&](const StrategyDiagnosis& strategy) {
    return !strategy.per_rank.empty() &&
           strategy.per_rank.front().device_name.starts_with("cuda:") && peak_of(strategy);
  };
  if (std::ranges::none_of(diagnosis.strategies, has_peak)) return;
  rows.add("peak memory, GiB", [&](const auto& s) -> std::string {
    const auto bytes = peak_of(s);
    return bytes ? number_text(static_cast<double>(*bytes) / kBytesPerGib) : kUnmeasured;
  });
}

}  // namespace

std::string terminal_report(const Diagnosis& diagnosis) {
  const WorkloadInfo& workload = diagnosis.workload;
  std::string out = wrapped(diagnosis.verdict) + "\n";
  std::string title = fmt::format("{} ({}), {}, global batch {}", workload.name, workload.model,
                                  workload.dtype, count_text(workload.global_batch));
  if (workload.sequence_length) title += fmt::format(", length {}", *workload.sequence_length);
  out += wrapped(title) + "\n";
  Rows rows(diagnosis);
  add_step_rows(rows);
  add_ratio_rows(rows, diagnosis);
  add_phase_rows(rows, diagnosis);
  add_all_reduce_rows(rows, diagnosis);
  rows.title("how it was measured");
  rows.add("recorder's cost",
           [](const auto& s) { return s.overhead ? share_text(s.overhead->value) : kUnmeasured; });
  rows.add("  95 % interval", [](const auto& s) -> std::string {
    if (!s.overhead || !s.overhead->ci95) return kUnmeasured;
    return share_text(s.overhead->ci95->lo) + " to " + share_text(s.overhead->ci95->hi);
  });
  rows.add("recorded steps", [](const auto& s) { return count_text(s.shown.steps_count); });
  rows.add("unaccounted, ns", [](const auto& s) { return count_text(s.shown.residual_ns()); });
  add_peak_memory_row(rows, diagnosis);
  out += rows.text();
  for (const std::string& note : recording_notes(diagnosis)) out += wrapped(note);
  return out;
}

}  // namespace ddpprof

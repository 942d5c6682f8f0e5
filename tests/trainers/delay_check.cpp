#include "tests/trainers/delay_check.h"

#include "profiler/diagnose/statistics.h"
#include "profiler/formats/file.h"
#include "profiler/formats/native.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

namespace ddpprof::test {
namespace {

constexpr double kMostByChance = 1e-7;

using Value = std::function<double(const StepTable& delayed, const StepTable& control)>;

// Of each delayed step and the one after it. Shape: sorted.
std::vector<double> over_pairs(const std::vector<StepTable>& tables, const Value& value) {
  std::vector<double> values;
  for (std::size_t i = 0; i + 1 < tables.size(); ++i) {
    if (tables[i].delay_ns && !tables[i + 1].delay_ns) {
      values.push_back(value(tables[i], tables[i + 1]));
    }
  }
  std::ranges::sort(values);
  return values;
}

// The largest k for which fewer than k of n fair coins fall heads with at most half of
// kMostByChance; 0 where there is none.
std::size_t order_for(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n));  // of exactly k heads
  double sum = 0;
  std::size_t k = 0;
  while (k < n && sum + probability <= kMostByChance / 2) {
    sum += probability;
    ++k;
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
  }
  return k;
}

double growth(const StepTable& delayed, const StepTable& control, const Cell& cell) {
  return static_cast<double>(delayed[cell] - control[cell]);
}

std::string in_us(double ns) {
  std::ostringstream text;
  text.setf(std::ios::fixed);
  text.precision(1);
  text << ns / 1e3 << " us";
  return text.str();
}

std::string to_text(const Move& move) {
  return "median " + in_us(move.median_ns) + ", interval " + in_us(move.lo_ns) + " to " +
         in_us(move.hi_ns) + ", " + std::to_string(move.pairs_count) + " pairs";
}

}  // namespace

Phase Plant::in() const {
  const auto* const name = std::ranges::find(kPhaseNames, phase);
  return static_cast<Phase>(name - kPhaseNames.begin());
}

std::ostream& operator<<(std::ostream& out, const Plant& plant) {
  return out << plant.strategy << " " << plant.phase;
}

std::vector<Plant> all_plants() {
  return {{"single", "data"},      {"single", "forward"}, {"single", "backward"},
          {"single", "optimizer"}, {"dp", "data"},        {"dp", "scatter"},
          {"dp", "replicate"},     {"dp", "forward"},     {"dp", "backward"},
          {"dp", "optimizer"},     {"ddp", "data"},       {"ddp", "forward"},
          {"ddp", "backward"},     {"ddp", "all_reduce"}, {"ddp", "optimizer"}};
}

std::string to_name(const Plant& plant) { return plant.strategy + "_" + plant.phase; }

Arguments operator+(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

void train(const std::string& strategy, int ranks_count, const Arguments& arguments) {
  if (strategy == "ddp") {
    EXPECT_EQ(run_ranks(ranks_count, arguments),
              std::vector<int>(static_cast<std::size_t>(ranks_count)));
    return;
  }
  TrainerProcess process(Arguments{"--strategy", strategy} + arguments);
  EXPECT_EQ(process.wait(), 0) << process.error();
}

std::vector<Trace> record(const std::string& strategy, int ranks_count,
                          const Arguments& arguments) {
  const TemporaryFolder folder;
  train(strategy, ranks_count,
        arguments + Arguments{"--trace", (folder.path() / "{rank}.json.gz").string()});
  std::vector<Trace> traces;
  for (int rank = 0; rank < (strategy == "ddp" ? ranks_count : 1); ++rank) {
    const auto path = folder.path() / (std::to_string(rank) + ".json.gz");
    traces.push_back(read_native(read_file(path), path.string()));
  }
  return traces;
}

std::string planted(const std::string& phase, const std::string& kind, int microseconds) {
  return phase + ":" + kind + ":" + std::to_string(microseconds) + ":every=3:control";
}

Move move_of(const std::vector<StepTable>& tables, const Cell& cell) {
  const std::vector<double> values = over_pairs(
      tables,
      [&](const auto& delayed, const auto& control) { return growth(delayed, control, cell); });
  const std::size_t k = order_for(values.size());
  if (k == 0) {
    ADD_FAILURE() << values.size() << " pairs are too few for an interval";
    return {};
  }
  return {.median_ns = median(values),
          .lo_ns = values[k - 1],
          .hi_ns = values[values.size() - k],
          .pairs_count = values.size()};
}

void expect_delay_in(const std::vector<StepTable>& tables, const Cell& cell,
                     const DelayBounds& bounds) {
  for (const StepTable& table : tables) {
    EXPECT_EQ(table.residual_ns, 0) << "step " << table.step;
  }
  const std::vector<double> delays = over_pairs(tables, [](const auto& delayed, const auto&) {
    return static_cast<double>(*delayed.delay_ns);
  });
  ASSERT_GE(delays.size(), bounds.least_pairs) << "steps with a delay and one without after them";
  const std::vector<double> errors =
      over_pairs(tables, [&](const auto& delayed, const auto& control) {
        return growth(delayed, control, cell) - static_cast<double>(*delayed.delay_ns);
      });
  const double bound_ns = std::max(bounds.share * median(delays), bounds.at_least_ns);
  EXPECT_LE(std::abs(median(errors)), bound_ns)
      << test::to_text(cell) << ": expected " << in_us(median(delays)) << " more, found "
      << to_text(move_of(tables, cell)) << "; found less expected: median " << in_us(median(errors))
      << ", quartiles " << in_us(quantile(errors, 0.25)) << " and " << in_us(quantile(errors, 0.75))
      << "; bound " << in_us(bound_ns);
}

void expect_moves_only(const std::vector<StepTable>& tables, const std::optional<Cell>& cell,
                       const MoveBounds& bounds) {
  for (const Cell& one : cells_of(tables)) {
    if (cell && (one == *cell || one == Cell{Phase::other, cell->activity})) {
      continue;
    }
    const double bound_ns =
        cell && one.phase == cell->phase ? bounds.same_phase_ns : bounds.elsewhere_ns;
    const Move move = move_of(tables, one);
    EXPECT_TRUE(move.lo_ns <= bound_ns && move.hi_ns >= -bound_ns)
        << test::to_text(one) << " moves: " << to_text(move) << "; bound " << in_us(bound_ns);
  }
}

}  // namespace ddpprof::test

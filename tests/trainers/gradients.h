// What two runs of a trainer computed, compared: for tests that strategies are equal.
#pragma once

#include "tests/trainers/trainer_process.h"

#include <string>

namespace ddpprof::test {

// A workload as the equality tests train it: ten steps, sizes that a CPU trains in a second, the
// preset's learning rate. trainers/README.md, "Equality", has the figures.
struct EqualityCase {
  std::string workload;
  std::string precision;
  double tolerance;  // norm of the difference over the norm
  Arguments arguments;
};
EqualityCase make_case(const std::string& workload, const std::string& precision);

// Gradients and parameters of every step of one run, on disk.
class Dump {
 public:
  // `devices` is the number of dp's workers or ddp's ranks.
  Dump(const std::string& strategy, int devices, const EqualityCase& which,
       const Arguments& more = {});

  // The largest relative difference of any step and rank; infinite where one has no such thing.
  double difference(const Dump& reference, const std::string& what) const;
  bool ranks_have_equal_parameters() const;
  // Norm of what step `step`, at least 1, did to rank 0's parameters.
  double step_length(int step) const;

 private:
  TemporaryFolder folder_;
  int ranks_;
};

// Fails the test that calls it unless gradients and parameters agree at every step.
void expect_equal(const Dump& reference, const std::string& strategy, int devices,
                  const EqualityCase& which, const Arguments& more = {});

}  // namespace ddpprof::test

// The one exception of the project: work that was asked for and cannot be done.
// Only the two `main` functions turn it into words and an exit code.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace ddpprof {

// What `main` prints as
//     ddpprof: <subject>: <problem>
//       hint: <hint>
// Guarantees: subject and problem are never empty; an empty hint prints no hint line.
class Error : public std::runtime_error {
 public:
  Error(std::string subject_text, std::string problem_text, std::string hint_text = {})
      : std::runtime_error(subject_text + ": " + problem_text),
        subject(std::move(subject_text)),
        problem(std::move(problem_text)),
        hint(std::move(hint_text)) {}

  std::string subject;
  std::string problem;
  std::string hint;
};

// Wrong usage: as Error, but `main` exits with 2 instead of 1.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace ddpprof

// Words of the command line that stand for enumerators.
#pragma once

#include "profiler/trace/error.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace ddpprof {

// Which of `names`, in the order of the enumeration. Throws: UsageError.
template <typename Enum>
Enum choose_word(const char* flag, const std::string& word,
                 std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, word);
  if (found == names.end()) {
    std::string known(names.front());
    for (std::size_t i = 1; i < names.size(); ++i) {
      known += (i + 1 < names.size() ? ", " : " or ") + std::string(names[i]);
    }
    throw UsageError(std::string(flag) + " " + word, "there is no such choice", "take " + known);
  }
  return static_cast<Enum>(found - names.begin());
}

}  // namespace ddpprof

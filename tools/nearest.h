// "Did you mean …?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

// The word of `known` with the least edit distance to `word`; empty when none is close (more than
// a third of the word's letters would have to change). Ties go to the earlier one.
// Source: Levenshtein 1966; insertion, deletion and substitution cost 1 each.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace ddpprof

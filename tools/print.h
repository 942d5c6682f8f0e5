// Results on standard output.
#pragma once

#include <string_view>

namespace ddpprof {

// Throws Error when not all of it could be written (disk full, reader gone).
void print_result(std::string_view text);

}  // namespace ddpprof

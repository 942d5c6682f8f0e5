// The native trace: Chrome Trace Event JSON, gzip, as torch.profiler writes it, one file a rank,
// with an object "ddpprof" that holds what that format has no place for.
#pragma once

#include "profiler/trace/trace.h"

#include <string>
#include <string_view>

namespace ddpprof {

// The version of the "ddpprof" object. A reader refuses a newer one and reads all older ones.
inline constexpr int kNativeSchema = 1;

// The JSON text. Times are microseconds with exactly three decimals, made from the integers.
// Guarantees: the same trace gives the same bytes; read_native(write_native(t)) == t.
std::string write_native(const Trace& trace);

// Throws Error when the text is not a native trace, is cut off, or its schema is newer.
// `subject` names the input in messages. The text is large: move it in.
Trace read_native(std::string json, std::string_view subject);

}  // namespace ddpprof

// The object "ddpprof" of a native trace: all of the model that is not an event.
#pragma once

#include "profiler/formats/json_value.h"
#include "profiler/formats/json_writer.h"
#include "profiler/trace/trace.h"

namespace ddpprof {

void write_native_head(JsonWriter& json, const Trace& trace);

// Fills in `info`, `names`, `threads` and `issues`. Throws Error, also when the schema is newer.
void read_native_head(const JsonObject& head, Trace& trace);

}  // namespace ddpprof

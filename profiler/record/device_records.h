// What a device profiler delivered, before it is tied to threads, steps and phases. Plain values:
// how they are made from CUPTI's records is in cupti_records.h, what becomes of them in
// device_trace.h.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ddpprof {

// Something a device ran. Units: CLOCK_MONOTONIC nanoseconds, bytes.
struct DeviceOperation {
  Span span;
  std::int32_t ordinal = 0;  // CUDA's number of the device
  std::int64_t stream = 0;
  Activity activity = Activity::compute;
  std::uint32_t name = 0;        // index into DeviceRecords::names
  std::int64_t correlation = 0;  // of the call that launched it
  std::int64_t bytes = 0;        // copies and sets
  std::uint64_t graph_node = 0;  // 0: no part of a CUDA graph
};

// A call into the CUDA runtime or driver.
struct DeviceCall {
  Span span;
  std::uint32_t thread = 0;  // the system's id
  std::uint32_t name = 0;
  std::int64_t correlation = 0;
};

struct DeviceRecords {
  std::vector<DeviceOperation> operations;
  std::vector<DeviceCall> calls;
  // Correlations of calls that returned only when device work was done.
  std::vector<std::int64_t> synchronizing;
  std::vector<std::string> names;                    // unique; kernels' as the linker knows them
  std::map<std::string, std::int64_t> overheads_ns;  // by kind
  std::int64_t incomplete_count = 0;  // delivered before the device was done with them

  // Added to every correlation. CUPTI counts anew when it is left and taken again, so each
  // recording of a process needs a base of its own.
  std::int64_t correlation_base = 0;

  // The index of a name; appends it when it is new.
  std::uint32_t intern(std::string_view text);

 private:
  // By hash: names are long, and most calls find theirs. Equal hashes are told apart by the text.
  std::unordered_multimap<std::size_t, std::uint32_t> index_;
};

}  // namespace ddpprof

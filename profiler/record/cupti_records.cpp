#include "profiler/record/cupti_records.h"

#include "profiler/record/call_names.h"

#include <array>
#include <string_view>

#include <fmt/core.h>

namespace ddpprof {
namespace {

Span span_of(std::uint64_t start, std::uint64_t end) {
  return {static_cast<std::int64_t>(start), static_cast<std::int64_t>(end)};
}

// Source: the words of CUPTI_ACTIVITY_MEMCPY_KIND_*.
std::string_view copy_word(std::uint8_t kind) {
  constexpr std::array<std::string_view, 11> kWords = {
      "unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return kind < kWords.size() ? kWords[kind] : kWords[0];
}

// Source: the words of CUPTI_ACTIVITY_MEMORY_KIND_*.
std::string_view memory_word(std::uint32_t kind) {
  constexpr std::array<std::string_view, 8> kWords = {"Unknown",       "Pageable",      "Pinned",
                                                      "Device",        "Array",         "Managed",
                                                      "Device Static", "Managed Static"};
  return kind < kWords.size() ? kWords[kind] : kWords[0];
}

// Of what CUPTI itself costs. Empty: the driver's doing (loading modules, a full command buffer,
// …), which it would do without CUPTI as well.
std::string_view overhead_word(CUpti_ActivityOverheadKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
      return "CUPTI buffer flush";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
      return "CUPTI instrumentation";
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
      return "CUPTI resources";
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      return "CUPTI buffer request";
    default:
      return {};
  }
}

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return *reinterpret_cast<const Record*>(&record);
}

// What all kinds of device work have under the same names.
template <typename Record>
void append_operation(const Record& record, Activity activity, std::string_view name,
                      std::int64_t bytes, DeviceRecords& records) {
  if (record.start == 0 || record.end == 0) {
    ++records.incomplete_count;
    return;
  }
  records.operations.push_back({.span = span_of(record.start, record.end),
                                .ordinal = static_cast<std::int32_t>(record.deviceId),
                                .stream = record.streamId,
                                .activity = activity,
                                .name = records.intern(name),
                                .correlation = records.correlation_base + record.correlationId,
                                .bytes = bytes,
                                .graph_node = record.graphNodeId});
}

void append_kernel(const KernelRecord& record, DeviceRecords& records) {
  const std::string_view name = record.name == nullptr ? "kernel" : record.name;
  const Activity activity =
      is_communication_kernel(name) ? Activity::communication : Activity::compute;
  append_operation(record, activity, name, 0, records);
}

void append_copy(const CopyRecord& record, DeviceRecords& records) {
  append_operation(record, Activity::copy,
                   fmt::format("Memcpy {} ({} -> {})", copy_word(record.copyKind),
                               memory_word(record.srcKind), memory_word(record.dstKind)),
                   static_cast<std::int64_t>(record.bytes), records);
  // The host gets such a copy's bytes when the call returns, whatever the call is named.
  // Source: CUDA runtime API, "API synchronization behavior".
  if (record.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH &&
      record.dstKind == CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE) {
    records.synchronizing.push_back(records.correlation_base + record.correlationId);
  }
}

void append_peer_copy(const PeerCopyRecord& record, DeviceRecords& records) {
  const bool crosses = record.srcDeviceId != record.dstDeviceId;
  append_operation(record, crosses ? Activity::communication : Activity::copy,
                   fmt::format("Memcpy {} ({} -> {})", copy_word(record.copyKind),
                               memory_word(record.srcKind), memory_word(record.dstKind)),
                   static_cast<std::int64_t>(record.bytes), records);
}

void append_set(const SetRecord& record, DeviceRecords& records) {
  append_operation(record, Activity::copy,
                   fmt::format("Memset ({})", memory_word(record.memoryKind)),
                   static_cast<std::int64_t>(record.bytes), records);
}

void append_overhead(const OverheadRecord& record, DeviceRecords& records) {
  const std::string_view word = overhead_word(record.overheadKind);
  if (word.empty() || record.start == 0 || record.end < record.start) return;
  records.overheads_ns[std::string(word)] += static_cast<std::int64_t>(record.end - record.start);
}

}  // namespace

void append_call(const CallEntry& call, const CallNames& names, DeviceRecords& records) {
  const std::vector<std::string>& known = call.is_driver != 0 ? names.driver : names.runtime;
  const std::string_view name =
      call.id < known.size() ? std::string_view(known[call.id]) : std::string_view();
  records.calls.push_back({.span = {call.begin_ns, call.end_ns},
                           .thread = call.thread,
                           .name = records.intern(without_version(name)),
                           .correlation = records.correlation_base + call.correlation});
  if (always_waits(name)) records.synchronizing.push_back(records.calls.back().correlation);
}

void append_record(const CUpti_Activity& record, DeviceRecords& records) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return append_kernel(as<KernelRecord>(record), records);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return append_copy(as<CopyRecord>(record), records);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return append_peer_copy(as<PeerCopyRecord>(record), records);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return append_set(as<SetRecord>(record), records);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return append_overhead(as<OverheadRecord>(record), records);
    default:
      return;
  }
}

}  // namespace ddpprof

// What one process recorded: the value every reader produces and every analysis starts from.
#pragma once

#include "profiler/trace/labels.h"
#include "profiler/trace/span.h"
#include "profiler/trace/workload_info.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

// Indices into Trace::names and Trace::threads.
struct NameId {
  std::uint32_t index = 0;
  auto operator<=>(const NameId&) const = default;
};
struct ThreadId {
  std::uint32_t index = 0;
  auto operator<=>(const ThreadId&) const = default;
};

// A thread is (system id, lifetime): the system hands ids out again.
struct Thread {
  std::int64_t system_id = 0;
  Span life;
  std::string name;                     // "main", "replica 1", …
  bool is_main = false;                 // the thread that runs the training loop; one a trace
  std::optional<std::int32_t> replica;  // DP: the replica this thread works for

  bool operator==(const Thread&) const = default;
};

// One optimizer step, as the host saw it.
// Shape: sorted, not overlapping. Steps of one visit follow each other without a gap; between
// visits the process waited for its turn and that time belongs to no step.
struct Step {
  std::int64_t index = 0;  // counted from the first optimizer step of the process
  std::int32_t visit = 0;
  Span span;
  // Records of this step were lost: nothing may be concluded from those that are there.
  bool has_losses = false;

  bool operator==(const Step&) const = default;
};

// A thread was in `phase` during `span`. Scopes of one thread nest.
struct Scope {
  Span span;
  ThreadId thread;
  Phase phase = Phase::other;
  NameId name;
  // CPU recordings: the thread itself computes here (it is not waiting for others to).
  bool computes = false;
  // CPU time the thread got inside `span`, nested scopes included. Absent where it was not
  // measured or would mislead (more than one intra-op thread works for this one).
  std::optional<std::int64_t> cpu_ns;
  // DP: the replica the scope is about, for scopes opened on behalf of one.
  std::optional<std::int32_t> replica;

  bool operator==(const Scope&) const = default;
};

// A host call into the device's runtime: a launch (it has a correlation) or a synchronising call.
struct Call {
  Span span;
  ThreadId thread;
  NameId name;
  std::int64_t correlation = 0;  // 0: launches nothing
  bool synchronizes = false;     // returns only when device work is done

  bool operator==(const Call&) const = default;
};

// Something a device ran. Never `stall`.
struct Work {
  Span span;
  std::int32_t device = 0;
  std::int64_t stream = 0;
  Activity activity = Activity::compute;
  NameId name;
  std::int64_t correlation = 0;  // 0: no launch record
  std::int64_t bytes = 0;        // copies and sets
  // Part of a CUDA graph: the phase in which it was captured, `graph` where nobody saw that. The
  // launch of a graph says nothing about the phases of its parts.
  std::optional<Phase> captured_phase = {};

  bool operator==(const Work&) const = default;
};

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  gather,
  scatter,
  send,
  receive,
  barrier,
};

// Of a collective's data. Sizes: 4, 8, 2, 2, 4, 8, 2, 1, 1 and 1 byte.
enum class ElementType : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int32,
  int64,
  int16,
  int8,
  uint8,
  boolean,
};

// One collective as this rank took part in it.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  NameId communicator;
  std::int64_t sequence = 0;  // position in the communicator's order; equal on all its ranks
  std::int64_t bytes = 0;
  std::optional<ElementType> element_type = {};
  bool gradient = false;               // reduces gradients (and is not a used-map, a metric, …)
  std::optional<std::int32_t> bucket;  // DDP
  std::optional<std::int32_t> root;    // rooted collectives
  std::int32_t device = 0;
  // When its input was ready on this rank. Absent in imports that do not tell.
  std::optional<std::int64_t> ready_ns;
  // In flight on this rank: from the start of its transfer (kernel, or a gloo thread taking it
  // up) to its end. Waiting for other ranks is inside.
  Span span;
  // The device work that carries it, if there is one: an index into Trace::work.
  std::optional<std::uint32_t> work;

  bool operator==(const Collective&) const = default;
};

// A stretch of a device's main stream between two markers: what ran in it was launched in `phase`.
// Recorded where the device's work itself is not, by events on the stream.
// Shape: sorted by device, then time. The stretches of one step on one device follow each other
// without a gap: together they are the step's window on that device.
struct DevicePhase {
  Span span;
  std::int32_t device = 0;  // as Work::device
  std::int64_t step = 0;    // Step::index
  Phase phase = Phase::other;

  bool operator==(const DevicePhase&) const = default;
};

// A flaw in the input or the recording that did not stop the reading.
struct Issue {
  std::string code;  // kebab-case, permanent
  std::string text;
  std::int64_t count = 1;

  bool operator==(const Issue&) const = default;
};

// Pairs of CLOCK_MONOTONIC and CLOCK_REALTIME read together.
struct ClockPair {
  std::int64_t monotonic_ns = 0;
  std::int64_t real_ns = 0;

  bool operator==(const ClockPair&) const = default;
};

// A device as the report names it.
struct Device {
  std::string name;
  std::int64_t memory_bytes = 0;
  // Its number among the GPUs that CUDA shows this process, so after CUDA_VISIBLE_DEVICES: rank 1
  // of ddp may drive number 1 alone. Absent: unknown; threads have none.
  std::optional<std::int32_t> number = {};

  bool operator==(const Device&) const = default;
};

// TraceInfo::recorder.
inline constexpr std::string_view kCuptiRecorder = "cupti";        // every kernel and copy
inline constexpr std::string_view kEventRecorder = "cuda-events";  // phases alone
inline constexpr std::string_view kHostRecorder = "host-clock";    // devices are threads

struct TraceInfo {
  WorkloadInfo workload;
  std::string strategy;  // single | dp | ddp
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  std::string host;
  // The kernel's boot id: traces that share it share CLOCK_MONOTONIC. Empty: unknown.
  std::string boot_id;
  ClockPair clock_begin, clock_end;
  // Of this rank's clock against the job's. Absent: never measured.
  std::optional<std::int64_t> clock_uncertainty_ns;
  // Of the devices' times against this host's clock. Absent: the host's own times, or the source
  // does not tell.
  std::optional<std::int64_t> device_clock_uncertainty_ns;
  // The devices this process drives, in replica order.
  std::vector<Device> devices;
  // CPU recording: devices are host threads; `work` and `calls` are empty.
  bool devices_are_threads = false;
  // What saw the devices: kCuptiRecorder, kEventRecorder or kHostRecorder. Empty: unknown.
  std::string recorder;
  std::int64_t dropped_records = 0;
  // What collecting cost by its own account, by kind, while recording was on.
  std::map<std::string, std::int64_t> collector_overheads_ns;
  std::map<std::string, std::string> versions;  // "torch": "2.11.0", …
  // What the training loop counted, totals over `steps`: "replicate", "scatter" (tensors),
  // "forward", "gather", "backward", "all_reduce", "broadcast", "optimizer". A missing key: not
  // counted.
  std::map<std::string, std::int64_t> counts;
  std::map<std::string, std::int64_t> ddp_logging_numbers;  // DDPLoggingData, its own names
  std::map<std::string, std::string> ddp_logging_texts;
  std::vector<std::optional<std::int64_t>> peak_memory_bytes;  // a device each
  // Delays that the trainer planted on purpose, by Step::index: their lengths, measured without the
  // recorder.
  std::map<std::int64_t, std::int64_t> planted_delays_ns;

  bool operator==(const TraceInfo&) const = default;
};

// Guarantees: names are unique; every NameId and ThreadId is in range.
struct Trace {
  TraceInfo info;
  std::vector<std::string> names;
  std::vector<Thread> threads;
  std::vector<Step> steps;
  std::vector<Scope> scopes;
  std::vector<Call> calls;
  std::vector<Work> work;
  std::vector<DevicePhase> device_phases;  // empty where `work` was recorded
  std::vector<Collective> collectives;
  std::vector<Issue> issues;

  bool operator==(const Trace&) const = default;
};

// What people call a device of this process: the number CUDA gives it, its position where that is
// not known.
std::int32_t device_number(const TraceInfo& info, std::int32_t device);

// All ranks of one job. Shape: sorted by rank. Guarantees: one clock where the traces share a
// boot id.
struct Run {
  std::vector<Trace> ranks;
};

inline constexpr std::string_view kCollectiveKindNames[] = {
    "all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter",
    "gather",     "scatter",   "send",   "receive",    "barrier"};

constexpr std::string_view to_string(CollectiveKind kind) {
  return kCollectiveKindNames[static_cast<std::size_t>(kind)];
}
std::optional<CollectiveKind> parse_collective_kind(std::string_view text);

// As PyTorch's traces spell them. Source: c10::toString(ScalarType).
inline constexpr std::string_view kElementTypeNames[] = {
    "Float", "Double", "Half", "BFloat16", "Int", "Long", "Short", "Char", "Byte", "Bool"};

constexpr std::string_view to_string(ElementType type) {
  return kElementTypeNames[static_cast<std::size_t>(type)];
}
std::optional<ElementType> parse_element_type(std::string_view text);
std::int64_t element_bytes(ElementType type);

// Gives each distinct name one id, in order of first use, and appends new ones to `names`.
class NameTable {
 public:
  explicit NameTable(std::vector<std::string>& names);
  NameId intern(std::string_view name);

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t, std::less<>> index_;
};

}  // namespace ddpprof

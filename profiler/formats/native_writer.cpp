#include "profiler/formats/common_clock.h"
#include "profiler/formats/json_writer.h"
#include "profiler/formats/native.h"
#include "profiler/formats/native_head.h"
#include "profiler/formats/rows.h"
#include "profiler/formats/work_kind.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace ddpprof {
namespace {

// Rows that belong to no thread: ids no Linux thread has (the kernel's limit is 2^22).
constexpr std::int64_t kCollectiveRow = 1'000'000'000;
// A device's row for what was timed on its main stream, whose number no record tells.
constexpr std::int64_t kMainStreamRow = 1'000'000'000;

// Where Kineto sorts the GPUs: below every process.
// Source: FORMATS of torch.profiler, process_sort_index 5,000,000 + device.
constexpr std::int64_t kDeviceSortIndex = 5'000'000;

// The words torch.profiler uses for collectives ("Collective name").
// Source: torch 2.11, ProcessGroupNCCL.cpp and ProcessGroupGloo.cpp, RECORD_PARAM_COMMS.
constexpr std::string_view kKinetoCollectiveNames[] = {
    "allreduce", "broadcast", "reduce", "_allgather_base", "_reduce_scatter_base", "gather",
    "scatter",   "send",      "recv",   "barrier"};

std::string_view kineto_name(CollectiveKind kind) {
  return kKinetoCollectiveNames[static_cast<std::size_t>(kind)];
}

std::string_view work_category(const Work& work, std::string_view name) {
  switch (kind_of(work, name)) {
    case WorkKind::copy:
      return "gpu_memcpy";
    case WorkKind::set:
      return "gpu_memset";
    case WorkKind::kernel:
      break;
  }
  return "kernel";
}

// CUDA's driver calls begin with "cu", its runtime's with "cuda".
std::string_view call_category(std::string_view name) {
  return name.starts_with("cu") && !name.starts_with("cuda") ? "cuda_driver" : "cuda_runtime";
}

bool gives_as_much_as_it_takes(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::broadcast ||
         kind == CollectiveKind::reduce;
}

// "[0, 1, 2]", or "[0, 1, ..., 99]" where there are many.
std::string all_ranks(std::int32_t world_size) {
  if (world_size > 64) return fmt::format("[0, 1, ..., {}]", world_size - 1);
  std::string text = "[";
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    text += fmt::format("{}{}", rank == 0 ? "" : ", ", rank);
  }
  return text + "]";
}

std::vector<Span> spans_of(const std::vector<Collective>& collectives) {
  std::vector<Span> spans;
  for (const Collective& collective : collectives) spans.push_back(collective.span);
  return spans;
}

class EventWriter {
 public:
  EventWriter(JsonWriter& json, const Trace& trace)
      : json_(json),
        trace_(trace),
        backend_(trace.info.devices_are_threads ? "gloo" : "nccl"),
        rows_(find_rows(spans_of(trace.collectives))),
        ranks_(trace.info.strategy == "ddp" ? all_ranks(trace.info.world_size) : "") {
    for (const Thread& thread : trace.threads) {
      if (thread.is_main) process_id_ = main_row_ = thread.system_id;
    }
    for (const Collective& collective : trace.collectives) {
      if (collective.work) carried_by_.emplace(*collective.work, &collective);
    }
  }

  void write_all() {
    write_process_rows();
    write_device_rows();
    for (const Step& step : trace_.steps) write(step);
    for (const Scope& scope : trace_.scopes) write(scope);
    for (const Call& call : trace_.calls) write(call);
    for (std::uint32_t i = 0; i < trace_.work.size(); ++i) write(trace_.work[i], i);
    for (const DevicePhase& phase : trace_.device_phases) write(phase);
    for (std::size_t i = 0; i < trace_.collectives.size(); ++i) {
      write(trace_.collectives[i], rows_[i]);
    }
  }

 private:
  const std::string& name(NameId id) const { return trace_.names[id.index]; }

  template <typename T>
  void write_row(std::string_view what, std::int64_t process, std::int64_t row,
                 std::string_view key, const T& value) {
    json_.new_line();
    json_.begin_object();
    json_.member("ph", "M");
    json_.member("name", what);
    json_.member("pid", process);
    json_.member("tid", row);
    json_.key("args");
    json_.begin_object();
    json_.member(key, value);
    json_.end_object();
    json_.end_object();
  }

  void write_process_rows() {
    const TraceInfo& info = trace_.info;
    write_row("process_name", process_id_, 0, "name",
              fmt::format("{} rank {} on {}", info.strategy, info.rank, info.host));
    write_row("process_labels", process_id_, 0, "labels", "CPU");
    write_row("process_sort_index", process_id_, 0, "sort_index", process_id_);
    std::set<std::int64_t> known;  // an id that was used twice keeps its first name
    std::int64_t position = 0;
    for (const Thread& thread : trace_.threads) {
      if (!known.insert(thread.system_id).second) continue;
      write_row("thread_name", process_id_, thread.system_id, "name", thread.name);
      write_row("thread_sort_index", process_id_, thread.system_id, "sort_index", position++);
    }
    const std::int64_t rows_count = rows_.empty() ? 0 : *std::ranges::max_element(rows_) + 1;
    for (std::int64_t row = 0; row < rows_count; ++row) {
      write_row("thread_name", process_id_, kCollectiveRow + row, "name", backend_);
      write_row("thread_sort_index", process_id_, kCollectiveRow + row, "sort_index", position++);
    }
  }

  void write_device_rows() {
    std::set<std::pair<std::int32_t, std::int64_t>> streams;
    for (const Work& work : trace_.work) streams.emplace(work.device, work.stream);
    std::set<std::int32_t> timed, devices;
    for (const DevicePhase& phase : trace_.device_phases) timed.insert(phase.device);
    devices = timed;
    for (const auto& [device, stream] : streams) devices.insert(device);
    for (const std::int32_t device : devices) {
      const std::string label = fmt::format("GPU {}", device_number(trace_.info, device));
      write_row("process_name", device, 0, "name", label);
      write_row("process_labels", device, 0, "labels", label);
      write_row("process_sort_index", device, 0, "sort_index", kDeviceSortIndex + device);
    }
    for (const auto& [device, stream] : streams) {
      write_row("thread_name", device, stream, "name", fmt::format("stream {}", stream));
    }
    for (const std::int32_t device : timed) {
      write_row("thread_name", device, kMainStreamRow, "name", "main stream");
    }
  }

  // Up to and with the opening of "args".
  void begin_event(std::string_view category, std::string_view event_name, std::int64_t process,
                   std::int64_t row, Span span) {
    json_.new_line();
    json_.begin_object();
    json_.member("ph", "X");
    json_.member("cat", category);
    json_.member("name", event_name);
    json_.member("pid", process);
    json_.member("tid", row);
    json_.key("ts");
    json_.microseconds(span.begin_ns);
    json_.key("dur");
    json_.microseconds(wrapping_difference(span.end_ns, span.begin_ns));
    json_.key("args");
    json_.begin_object();
  }

  void end_event() {
    json_.end_object();
    json_.end_object();
  }

  template <typename T>
  void write_if_known(std::string_view key, const std::optional<T>& value) {
    if (value) json_.member(key, *value);
  }

  void write(const Step& step) {
    begin_event("user_annotation", fmt::format("ProfilerStep#{}", step.index), process_id_,
                main_row_, step.span);
    json_.member("step", step.index);
    json_.member("visit", step.visit);
    if (step.has_losses) json_.member("losses", true);
    end_event();
  }

  void write(const Scope& scope) {
    begin_event("user_annotation", name(scope.name), process_id_, row_of(scope.thread), scope.span);
    json_.member("phase", to_string(scope.phase));
    json_.member("computes", scope.computes);
    write_if_known("cpu_ns", scope.cpu_ns);
    write_if_known("replica", scope.replica);
    json_.member("thread", static_cast<std::int64_t>(scope.thread.index));
    end_event();
  }

  void write(const Call& call) {
    begin_event(call_category(name(call.name)), name(call.name), process_id_, row_of(call.thread),
                call.span);
    json_.member("correlation", call.correlation);
    json_.member("synchronizes", call.synchronizes);
    json_.member("thread", static_cast<std::int64_t>(call.thread.index));
    end_event();
  }

  void write(const Work& work, std::uint32_t index) {
    begin_event(work_category(work, name(work.name)), name(work.name), work.device, work.stream,
                work.span);
    json_.member("device", work.device);
    json_.member("stream", work.stream);
    json_.member("correlation", work.correlation);
    json_.member("bytes", work.bytes);
    json_.member("activity", to_string(work.activity));
    if (work.captured_phase) json_.member("phase", to_string(*work.captured_phase));
    // For other tools; ours takes it from the collective.
    if (const auto found = carried_by_.find(index); found != carried_by_.end()) {
      write_kineto_args(*found->second);
    }
    end_event();
  }

  void write(const DevicePhase& phase) {
    begin_event("gpu_user_annotation", to_string(phase.phase), phase.device, kMainStreamRow,
                phase.span);
    json_.member("device", phase.device);
    json_.member("step", phase.step);
    end_event();
  }

  void write(const Collective& collective, std::int64_t row) {
    begin_event("user_annotation", fmt::format("{}:{}", backend_, to_string(collective.kind)),
                process_id_, kCollectiveRow + row, collective.span);
    write_kineto_args(collective);
    json_.member("collective", to_string(collective.kind));
    json_.member("bytes", collective.bytes);
    json_.member("gradient", collective.gradient);
    json_.member("device", collective.device);
    write_if_known("bucket", collective.bucket);
    write_if_known("root", collective.root);
    write_if_known("ready_ns", collective.ready_ns);
    if (collective.work) json_.member("work", static_cast<std::int64_t>(*collective.work));
    end_event();
  }

  void write_kineto_args(const Collective& collective) {
    json_.member("Collective name", kineto_name(collective.kind));
    json_.member("Process Group Name", name(collective.communicator));
    json_.member("Seq", collective.sequence);
    if (collective.element_type) {
      json_.member("dtype", to_string(*collective.element_type));
      const std::int64_t count = collective.bytes / element_bytes(*collective.element_type);
      json_.member("In msg nelems", count);
      if (gives_as_much_as_it_takes(collective.kind)) json_.member("Out msg nelems", count);
    }
    // DDP's one group is of all ranks.
    if (!ranks_.empty()) {
      json_.member("Group size", trace_.info.world_size);
      json_.member("Process Group Ranks", ranks_);
      json_.member("Rank", trace_.info.rank);
    }
  }

  std::int64_t row_of(ThreadId id) const { return trace_.threads[id.index].system_id; }

  JsonWriter& json_;
  const Trace& trace_;
  const std::string_view backend_;
  const std::vector<std::int64_t> rows_;
  std::int64_t process_id_ = 1;
  std::int64_t main_row_ = 1;
  const std::string ranks_;
  std::map<std::uint32_t, const Collective*> carried_by_;
};

// What torch.profiler writes ahead of the events and other tools look at.
void write_kineto_head(JsonWriter& json, const TraceInfo& info) {
  json.member("schemaVersion", 1);
  json.new_line();
  json.key("deviceProperties");
  json.begin_array();
  for (std::size_t i = 0; i < info.devices.size() && !info.devices_are_threads; ++i) {
    json.begin_object();
    json.member("id", static_cast<std::int64_t>(i));
    json.member("name", info.devices[i].name);
    json.member("totalGlobalMem", info.devices[i].memory_bytes);
    json.end_object();
  }
  json.end_array();
  if (info.strategy == "ddp") {
    json.new_line();
    json.key("distributedInfo");
    json.begin_object();
    json.member("backend", info.devices_are_threads ? "gloo" : "nccl");
    json.member("rank", info.rank);
    json.member("world_size", info.world_size);
    json.end_object();
  }
  json.new_line();
  json.member("displayTimeUnit", "ms");
  json.new_line();
  json.member("baseTimeNanoseconds",
              wrapping_difference(info.clock_begin.real_ns, info.clock_begin.monotonic_ns));
}

}  // namespace

std::string write_native(const Trace& trace) {
  std::string text;
  // Measured: events take 160 to 300 bytes.
  text.reserve(4096 +
               256 * (trace.steps.size() + trace.scopes.size() + trace.calls.size() +
                      trace.work.size() + trace.device_phases.size() + trace.collectives.size()));
  JsonWriter json(text);
  json.begin_object();
  write_kineto_head(json, trace.info);
  json.new_line();
  json.key("ddpprof");
  write_native_head(json, trace);
  json.new_line();
  json.key("traceEvents");
  json.begin_array();
  EventWriter(json, trace).write_all();
  json.end_array();
  json.end_object();
  text += '\n';
  return text;
}

}  // namespace ddpprof

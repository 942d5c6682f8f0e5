#include "profiler/formats/nsys_sqlite.h"

#include "profiler/formats/common_clock.h"
#include "profiler/formats/launch_ranges.h"
#include "profiler/formats/nsys_tables.h"
#include "profiler/formats/nsys_words.h"
#include "profiler/formats/work_kind.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace ddpprof {
namespace {

// Kinds of NVTX_EVENTS. Source: ENUM_NSYS_EVENT_TYPE.
constexpr std::int64_t kCategory = 33, kPushPop = 59, kStartEnd = 60, kDomain = 75;
constexpr std::int64_t kOurDomain = 1;
constexpr std::int64_t kContext = 1;           // one a device: recordings do not tell contexts
constexpr std::int64_t kNone = 4'294'967'295;  // no event, all streams
constexpr std::int64_t kPlace = 24;            // bits of a thread's id in globalTid

std::string utc_text(std::int64_t epoch_ns) {
  const std::time_t seconds = epoch_ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return text.data();
}

SqlValue known(std::int64_t correlation) {
  return correlation == 0 ? SqlValue() : SqlValue(correlation);
}

// StringIds.
class Strings {
 public:
  explicit Strings(NsysTables& tables) : tables_(tables) {}
  std::int64_t operator()(const std::string& text) {
    const auto [found, is_new] = ids_.try_emplace(text, static_cast<std::int64_t>(ids_.size()) + 1);
    if (is_new) tables_.into("StringIds").row({found->second, std::string_view(text)});
    return found->second;
  }

 private:
  NsysTables& tables_;
  std::map<std::string, std::int64_t> ids_;
};

// The numbers of the devices of each trace: CUDA's, unless two ranks of a job name the same one,
// as ranks do that are shown one GPU each.
std::vector<std::vector<std::int64_t>> number_devices(std::span<const Trace> traces) {
  std::vector<std::vector<std::int64_t>> numbers(traces.size());
  std::map<std::string, std::set<std::pair<std::string, std::int64_t>>> seen;  // by strategy
  std::set<std::string> ambiguous;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const TraceInfo& info = traces[i].info;
    for (std::size_t at = 0; at < info.devices.size(); ++at) {
      numbers[i].push_back(info.devices[at].number.value_or(static_cast<std::int32_t>(at)));
      if (!seen[info.strategy].emplace(info.host, numbers[i].back()).second) {
        ambiguous.insert(info.strategy);
      }
    }
  }
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const TraceInfo& info = traces[i].info;
    if (!ambiguous.contains(info.strategy)) continue;
    for (std::size_t at = 0; at < numbers[i].size(); ++at) {
      numbers[i][at] =
          static_cast<std::int64_t>(static_cast<std::size_t>(info.rank) * numbers[i].size() + at);
    }
  }
  return numbers;
}

class ProcessWriter {
 public:
  ProcessWriter(NsysTables& tables, Strings& strings, const Trace& trace, std::int64_t process,
                std::int64_t shift_ns, const std::vector<std::int64_t>& devices)
      : tables_(tables),
        strings_(strings),
        trace_(trace),
        process_(process),
        shift_ns_(shift_ns),
        devices_(devices) {
    for (std::size_t i = 0; i < trace.threads.size(); ++i) {
      if (trace.threads[i].is_main) main_ = static_cast<std::uint32_t>(i);
    }
  }

  void write_all() {
    write_process();
    write_ranges();
    for (const Call& call : trace_.calls) write(call);
    for (const Work& work : trace_.work) write(work);
  }

 private:
  std::int64_t global_process() const { return process_ << kPlace; }
  std::int64_t global_thread(std::uint32_t thread) const { return global_process() + thread + 1; }
  std::int64_t at(std::int64_t time_ns) const { return wrapping_sum(time_ns, shift_ns_); }
  std::int64_t number_of(std::int32_t device) const {
    const auto position = static_cast<std::size_t>(device);
    return position < devices_.size() ? devices_[position] : device;
  }
  const std::string& name(NameId id) const { return trace_.names[id.index]; }

  void write_process() {
    const TraceInfo& info = trace_.info;
    const std::string title = fmt::format("{} rank {}", info.strategy, info.rank);
    tables_.into("PROCESSES").row({global_process(), process_, std::string_view(title)});
    for (std::uint32_t i = 0; i < trace_.threads.size(); ++i) {
      tables_.into("ThreadNames").row({strings_(trace_.threads[i].name), {}, global_thread(i)});
    }
    const auto note = [&](std::string_view key, const std::string& value) {
      const std::string name = fmt::format("PROCESS_{}:DDPPROF_{}", process_, key);
      tables_.into("META_DATA_CAPTURE").row({std::string_view(name), std::string_view(value)});
    };
    note("STRATEGY", info.strategy);
    note("RANK", std::to_string(info.rank));
    note("WORLD_SIZE", std::to_string(info.world_size));
    note("HOST", info.host);
    note("WORKLOAD", info.workload.name);
    note("RECORDER", info.recorder);
    note("DROPPED_RECORDS", std::to_string(info.dropped_records));
    write_devices();
  }

  void write_devices() {
    if (trace_.info.devices_are_threads) return;
    std::set<std::pair<std::int32_t, std::int64_t>> streams;
    for (const Work& work : trace_.work) streams.emplace(work.device, work.stream);
    for (std::size_t i = 0; i < trace_.info.devices.size(); ++i) {
      const std::int64_t number = devices_[i];
      tables_.into("TARGET_INFO_CUDA_DEVICE").row({number, number, process_});
      tables_.into("TARGET_INFO_CUDA_CONTEXT_INFO")
          .row({0, 0, 0, process_, number, kContext, 0, 0});
    }
    for (const auto& [device, stream] : streams) {
      tables_.into("TARGET_INFO_CUDA_STREAM").row({stream, 0, 0, process_, kContext, 0, 0});
    }
  }

  // Shape of NVTX_EVENTS up to int64Value.
  void write_range(Span span, std::int64_t type, std::int64_t thread, std::optional<Phase> phase,
                   const std::string& text, SqlValue payload) {
    const bool has_end_thread = type == kStartEnd;
    tables_.into("NVTX_EVENTS")
        .row({at(span.begin_ns),
              at(span.end_ns),
              type,
              has_end_thread ? SqlValue(++range_) : SqlValue(),
              phase ? SqlValue(category_of(*phase)) : SqlValue(),
              phase ? SqlValue(std::int64_t{color_of(*phase)}) : SqlValue(),
              {},
              thread,
              has_end_thread ? SqlValue(thread) : SqlValue(),
              strings_(text),
              kOurDomain,
              {},
              payload});
  }

  void write_ranges() {
    if (trace_.steps.empty() && trace_.scopes.empty() && trace_.collectives.empty() &&
        trace_.device_phases.empty()) {
      return;
    }
    SqlInsert& events = tables_.into("NVTX_EVENTS");
    const std::int64_t main = global_thread(main_);
    const auto announce = [&](std::int64_t type, SqlValue category, std::string_view text) {
      events.row({0, {}, type, {}, category, {}, text, main, {}, {}, kOurDomain});
    };
    announce(kDomain, {}, "ddpprof");
    for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
      announce(kCategory, static_cast<std::int64_t>(i) + 1, kPhaseNames[i]);
    }
    for (const Step& step : trace_.steps) {
      write_range(step.span, kPushPop, main, {}, "step", step.index);
    }
    for (const Scope& scope : trace_.scopes) {
      write_range(scope.span, kPushPop, global_thread(scope.thread.index), scope.phase,
                  name(scope.name), scope.replica ? SqlValue(*scope.replica) : SqlValue());
    }
    for (const LaunchRange& range : find_launch_ranges(trace_)) {
      const Scope& scope = trace_.scopes[range.scope];
      write_range(range.span, kPushPop, global_thread(range.thread.index), scope.phase,
                  name(scope.name) + " (launches)", {});
    }
    for (const Collective& one : trace_.collectives) {
      write_range(one.span, kStartEnd, main, {},
                  fmt::format("{}:{}", trace_.info.devices_are_threads ? "gloo" : "nccl",
                              to_string(one.kind)),
                  one.bytes);
    }
    for (const DevicePhase& phase : trace_.device_phases) {
      write_range(phase.span, kStartEnd, main, phase.phase,
                  fmt::format("GPU {} {}", number_of(phase.device), to_string(phase.phase)),
                  phase.step);
    }
  }

  static std::int64_t category_of(Phase phase) { return static_cast<std::int64_t>(phase) + 1; }

  void write(const Call& call) {
    const std::string& called = name(call.name);
    const std::int64_t is_driver = called.starts_with("cuda") ? 0 : 1;
    tables_.into("CUPTI_ACTIVITY_KIND_RUNTIME")
        .row({at(call.span.begin_ns), at(call.span.end_ns), is_driver,
              global_thread(call.thread.index), known(call.correlation), strings_(called)});
    const std::int64_t type = call.synchronizes ? sync_type(called) : 0;
    if (type == 0) return;
    // Which device it waits for is known where there is but one.
    tables_.into("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
        .row({at(call.span.begin_ns),
              at(call.span.end_ns),
              devices_.size() == 1 ? SqlValue(devices_.front()) : SqlValue(),
              kContext,
              {},
              kNone,
              known(call.correlation),
              global_process(),
              {},
              type,
              kNone});
  }

  void write(const Work& work) {
    const std::string& called = name(work.name);
    // The first eight columns of all three tables.
    const auto row = [&](const char* table, std::initializer_list<SqlValue> values) {
      tables_.into(table).row({at(work.span.begin_ns),
                               at(work.span.end_ns),
                               number_of(work.device),
                               kContext,
                               {},
                               work.stream,
                               known(work.correlation),
                               global_process()},
                              values);
    };
    switch (kind_of(work, called)) {
      case WorkKind::kernel: {
        const auto& [full, brief, raw] = kernel_names(work.name);
        return row("CUPTI_ACTIVITY_KIND_KERNEL", {full, brief, raw});
      }
      case WorkKind::copy: {
        const CopyWords words = copy_words(called);
        return row("CUPTI_ACTIVITY_KIND_MEMCPY",
                   {work.bytes, words.copy_kind, {}, words.from, words.to});
      }
      case WorkKind::set:
        return row("CUPTI_ACTIVITY_KIND_MEMSET", {{}, work.bytes, {}, copy_words(called).to});
    }
  }

  // StringIds of the three names of a kernel.
  const std::array<std::int64_t, 3>& kernel_names(NameId id) {
    const auto [found, is_new] = kernel_names_.try_emplace(id.index);
    if (is_new) {
      const std::string full = demangled_name(name(id));
      found->second = {strings_(full), strings_(short_name(full)), strings_(name(id))};
    }
    return found->second;
  }

  NsysTables& tables_;
  Strings& strings_;
  const Trace& trace_;
  const std::int64_t process_, shift_ns_;
  const std::vector<std::int64_t>& devices_;
  std::uint32_t main_ = 0;
  std::int64_t range_ = 0;
  std::map<std::uint32_t, std::array<std::int64_t, 3>> kernel_names_;
};

void write_session(NsysTables& tables, const CommonClock& clock) {
  const std::string utc = utc_text(clock.epoch_ns());
  tables.into("TARGET_INFO_SESSION_START_TIME")
      .row({clock.epoch_ns(), std::string_view(utc), std::string_view(utc)});
  tables.into("ANALYSIS_DETAILS").row({0, clock.length_ns(), 0, clock.length_ns()});
  SqlInsert& facts = tables.into("META_DATA_EXPORT");
  facts.row({"EXPORT_PRODUCT_NAME", "ddpprof"});
  facts.row({"EXPORT_SCHEMA_VERSION", kNsysSchemaVersion});
  facts.row({"EXPORT_SCHEMA_VERSION_MAJOR", "3"});
  facts.row({"EXPORT_SCHEMA_VERSION_MINOR", "20"});
  facts.row({"EXPORT_SCHEMA_VERSION_MICRO", "3"});
  facts.row({"EXPORT_PARAM_TIME_NORMALIZE", "false"});
  facts.row({"EXPORT_PARAM_TIME_SHIFT", "0"});
}

void write_gpus(NsysTables& tables, std::span<const Trace> traces,
                const std::vector<std::vector<std::int64_t>>& numbers) {
  std::set<std::int64_t> written;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].info.devices_are_threads) continue;
    for (std::size_t at = 0; at < numbers[i].size(); ++at) {
      if (!written.insert(numbers[i][at]).second) continue;
      const Device& device = traces[i].info.devices[at];
      tables.into("TARGET_INFO_GPU")
          .row({0, numbers[i][at], std::string_view(device.name), {}, {}, {}, device.memory_bytes});
    }
  }
}

}  // namespace

std::string write_nsys_sqlite(std::span<const Trace> traces) {
  SqliteDatabase database;
  NsysTables tables(database);
  Strings strings(tables);
  const CommonClock clock(traces);
  const auto numbers = number_devices(traces);
  write_session(tables, clock);
  write_gpus(tables, traces, numbers);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    ProcessWriter(tables, strings, traces[i], static_cast<std::int64_t>(i) + 1, clock.shift(i),
                  numbers[i])
        .write_all();
  }
  return database.bytes();
}

}  // namespace ddpprof

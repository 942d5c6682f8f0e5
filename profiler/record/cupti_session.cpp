#include "profiler/record/cupti_session.h"

#include "profiler/record/call_names.h"
#include "profiler/record/recorder.h"
#include "profiler/record/thread_names.h"

#include <array>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/core.h>

namespace ddpprof {
namespace {

constexpr std::uint32_t kMajor = 10'000;  // 130001 is 13.0 update 1

// CUPTI's buffer callbacks carry no pointer of ours.
std::atomic<CuptiSession*> session_of_this_process = nullptr;

constexpr std::array kKinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                               CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                               CUPTI_ACTIVITY_KIND_OVERHEAD};

constexpr std::int64_t kCorrelations = std::int64_t{1} << 32;  // that CUPTI can count
constexpr const char* kEnable = "cuptiEnableCallback";
// The call in whose return CUPTI is left: any that is not made in steps.
constexpr CUpti_CallbackId kLeavingCall = CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020;

std::uint64_t monotonic_time() { return static_cast<std::uint64_t>(now_ns()); }

// A system call once a thread.
std::uint32_t this_thread() {
  static thread_local const std::uint32_t kId = this_thread_id();
  return kId;
}

std::string text_of(CUptiResult result) {
  const char* text = nullptr;
  if (cuptiGetErrorMessage(result, &text) != CUPTI_SUCCESS || text == nullptr) return "?";
  return text;
}

// 130001 -> "13.0.1".
std::string version_text(std::uint32_t version) {
  return fmt::format("{}.{}.{}", version / kMajor, version % kMajor / 100, version % 100);
}

std::vector<std::string> call_names(CUpti_CallbackDomain domain, std::uint32_t count) {
  std::vector<std::string> names(count);
  for (std::uint32_t id = 1; id < count; ++id) {
    const char* name = nullptr;
    if (cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS && name != nullptr) {
      names[id] = name;
    }
  }
  return names;
}

std::vector<CUpti_CallbackId> needed_calls(const std::vector<std::string>& names) {
  std::vector<CUpti_CallbackId> ids;
  for (std::size_t id = 0; id < names.size(); ++id) {
    if (is_needed_call(names[id])) ids.push_back(static_cast<CUpti_CallbackId>(id));
  }
  return ids;
}

}  // namespace

std::string find_objection(std::uint32_t cupti_version,
                           const std::function<const char*(const char*)>& variable) {
  if (cupti_version / kMajor != CUPTI_API_VERSION / kMajor || cupti_version < CUPTI_API_VERSION) {
    return fmt::format("CUPTI is {}, compiled for {}", version_text(cupti_version),
                       version_text(CUPTI_API_VERSION));
  }
  // CUPTI would give us the place that such a tool takes later, and the tool would see nothing.
  for (const char* name : {"NSYS_PROFILING_SESSION_ID", "CUDA_INJECTION64_PATH"}) {
    if (variable(name) != nullptr) {
      return fmt::format("another tool profiles this process ({} is set)", name);
    }
  }
  const char* preloaded = variable("LD_PRELOAD");
  if (preloaded != nullptr &&
      std::string_view(preloaded).find("ToolsInjection") != std::string_view::npos) {
    return "another tool profiles this process (LD_PRELOAD has its injection)";
  }
  return {};
}

CuptiSession::CuptiSession(PhaseNow phase_now)
    : phase_now_(std::move(phase_now)),
      buffers_(
          [this](std::span<const std::byte> buffer, BufferKind kind) { consume(buffer, kind); }) {}

std::unique_ptr<CuptiSession> CuptiSession::open(PhaseNow phase_now, std::string& reason) {
  std::unique_ptr<CuptiSession> session(new CuptiSession(std::move(phase_now)));
  CuptiSession* none = nullptr;
  if (!session_of_this_process.compare_exchange_strong(none, session.get())) {
    reason = "another recorder of this process uses CUPTI";
    return nullptr;
  }
  if (!session->take_place(reason)) return nullptr;
  session->find_calls();
  return session;
}

CuptiSession::~CuptiSession() {
  if (subscriber_ != nullptr) cuptiUnsubscribe(subscriber_);
  CuptiSession* self = this;
  session_of_this_process.compare_exchange_strong(self, nullptr);
}

// The place first: without it another client's buffers would be taken away silently.
bool CuptiSession::subscribe(std::string& reason) {
  std::array<char, std::size_t{2} * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> holder{};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "ddpprof";
  parameters.oldSubscriberName = holder.data();
  parameters.oldSubscriberSize = holder.size();
  const CUptiResult result = cuptiSubscribe_v2(&subscriber_, on_event, this, &parameters);
  if (result == CUPTI_SUCCESS) return true;
  subscriber_ = nullptr;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    const std::string name = holder[0] == '\0' ? "another tool" : holder.data();
    reason = "CUPTI is in use by " + name + ", and serves one at a time";
  } else {
    reason = "CUPTI refuses to start: " + text_of(result);
  }
  return false;
}

bool CuptiSession::take_place(std::string& reason) {
  if (!subscribe(reason)) return false;
  std::uint8_t zeroed = 1;
  std::size_t zeroed_size = sizeof zeroed;
  // Before buffers and kinds are. In this order: the clock may not change later.
  bool is_fine = !failed(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
                                                   &zeroed_size, &zeroed),
                         "cuptiActivitySetAttribute");
  is_fine &= !failed(cuptiActivityRegisterTimestampCallback(monotonic_time),
                     "cuptiActivityRegisterTimestampCallback");
  is_fine &= !failed(cuptiActivityRegisterCallbacks(on_buffer_wanted, on_buffer_done),
                     "cuptiActivityRegisterCallbacks");
  for (const CUpti_CallbackIdResource id :
       {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
    is_fine &= !failed(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id), kEnable);
  }
  if (is_fine) return true;
  cuptiUnsubscribe(std::exchange(subscriber_, nullptr));
  reason = "CUPTI refuses to start: " + error_;
  return false;
}

void CuptiSession::find_calls() {
  names_.runtime = call_names(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE);
  names_.driver = call_names(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE);
  needed_runtime_ = needed_calls(names_.runtime);
  needed_driver_ = needed_calls(names_.driver);
}

bool CuptiSession::failed(CUptiResult result, const char* call) noexcept {
  if (result == CUPTI_SUCCESS) return false;
  if (error_.empty()) {
    try {
      error_ = std::string(call) + ": " + text_of(result);
    } catch (const std::bad_alloc&) {
      return true;
    }
  }
  return true;
}

bool CuptiSession::set_kinds(bool on) noexcept {
  bool is_fine = true;
  for (const CUpti_ActivityKind kind : kKinds) {
    is_fine &= !failed(on ? cuptiActivityEnable(kind) : cuptiActivityDisable(kind),
                       on ? "cuptiActivityEnable" : "cuptiActivityDisable");
  }
  const std::uint32_t flag = on ? 1 : 0;
  for (const CUpti_CallbackId id : needed_runtime_) {
    is_fine &=
        !failed(cuptiEnableCallback(flag, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API, id), kEnable);
  }
  for (const CUpti_CallbackId id : needed_driver_) {
    is_fine &=
        !failed(cuptiEnableCallback(flag, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, id), kEnable);
  }
  return is_fine;
}

bool CuptiSession::start() noexcept {
  if (subscriber_ == nullptr) return false;
  buffers_.reserve();
  records_.correlation_base += kCorrelations;
  ++recording_;
  started_ns_ = now_ns();
  CallLog::instance().start(buffers_);
  if (set_kinds(true)) return true;
  stop();
  return false;
}

void CuptiSession::stop() noexcept {
  if (subscriber_ == nullptr) return;
  set_kinds(false);
  CallLog::instance().stop();
  failed(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
    dropped_count_ += static_cast<std::int64_t>(dropped);
  }
  dropped_count_ += CallLog::instance().take_dropped_count();
  buffers_.wait_until_consumed();
  if (knows_graphs() || !let_go()) return;
  buffers_.wait_until_consumed();  // what it handed back
  try {
    std::string reason;
    if (!take_place(reason) && error_.empty()) error_ = reason;
  } catch (const std::bad_alloc&) {
    return;  // without the place nothing more is recorded
  }
}

// Kinds that are disabled leave their hooks in every call of the process; only this takes them out.
// Source: CUPTI, "Dynamic attach and detach": cuptiFinalize() belongs into the exit of a call.
bool CuptiSession::let_go() noexcept {
  leaving_ = Leaving::wanted;
  failed(cuptiEnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API, kLeavingCall), kEnable);
  cudaDeviceSynchronize();
  if (leaving_.exchange(Leaving::no) == Leaving::done) {
    subscriber_ = nullptr;
    return true;
  }
  failed(CUPTI_ERROR_UNKNOWN, "cuptiFinalize");
  return false;
}

DeviceRecords CuptiSession::take_records() {
  DeviceRecords records = std::exchange(records_, {});
  records_.correlation_base = records.correlation_base;
  return records;
}

Losses CuptiSession::take_losses() noexcept {
  Losses losses;
  losses.count = dropped_count_.exchange(0);
  buffers_.move_periods(losses);
  return losses;
}

// CUPTI numbers the parts of graphs anew when it is taken again, those it was told of before, too.
bool CuptiSession::knows_graphs() noexcept {
  const std::lock_guard lock(nodes_mutex_);
  return !captured_phases_.empty();
}

std::unordered_map<std::uint64_t, Phase> CuptiSession::captured_phases() {
  const std::lock_guard lock(nodes_mutex_);
  return captured_phases_;
}

void CuptiSession::consume(std::span<const std::byte> buffer, BufferKind kind) {
  if (kind == BufferKind::calls) return consume_calls(buffer);
  auto* const begin = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(buffer.data()));
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(begin, buffer.size(), &record) == CUPTI_SUCCESS) {
    try {
      append_record(*record, records_);
    } catch (const std::bad_alloc&) {
      ++dropped_count_;
    }
  }
}

void CuptiSession::consume_calls(std::span<const std::byte> buffer) {
  for (std::size_t at = 0; at + sizeof(CallEntry) <= buffer.size(); at += sizeof(CallEntry)) {
    CallEntry call;
    std::memcpy(&call, buffer.data() + at, sizeof call);
    try {
      append_call(call, names_, records_);
    } catch (const std::bad_alloc&) {
      ++dropped_count_;
    }
  }
}

void CuptiSession::on_buffer_wanted(std::uint8_t** buffer, std::size_t* size,
                                    std::size_t* most_records) {
  CuptiSession* const session = session_of_this_process;
  *buffer =
      session == nullptr ? nullptr : reinterpret_cast<std::uint8_t*>(session->buffers_.take());
  *size = *buffer == nullptr ? 0 : ActivityBuffers::kBytes;
  *most_records = 0;  // as many as fit
}

void CuptiSession::on_buffer_done(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                  std::size_t /*size*/, std::size_t valid_size) {
  CuptiSession* const session = session_of_this_process;
  if (session == nullptr || buffer == nullptr) return;
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    session->dropped_count_ += static_cast<std::int64_t>(dropped);
  }
  session->buffers_.give(reinterpret_cast<std::byte*>(buffer), valid_size);
}

void CuptiSession::on_event(void* session_pointer, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void* data) {
  auto& session = *static_cast<CuptiSession*>(session_pointer);
  if (data == nullptr) return;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    session.note_call(call, id, domain == CUPTI_CB_DOMAIN_DRIVER_API);
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    const auto* resource = static_cast<const CUpti_ResourceData*>(data);
    const auto* graph = static_cast<const CUpti_GraphData*>(resource->resourceDescriptor);
    if (graph != nullptr) session.note_node(*graph, id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
  }
}

// Between entry and exit of a call CUPTI keeps a number for us: when it began. A call into the
// driver that the runtime makes is part of the runtime's.
void CuptiSession::note_call(const CUpti_CallbackData& call, CUpti_CallbackId id,
                             bool is_driver) noexcept {
  if (leaving_ != Leaving::no) {
    auto wanted = Leaving::wanted;
    if (call.callbackSite == CUPTI_API_EXIT && !is_driver && id == kLeavingCall &&
        leaving_.compare_exchange_strong(wanted, Leaving::under_way)) {
      leaving_ = cuptiFinalize() == CUPTI_SUCCESS ? Leaving::done : Leaving::failed;
    }
    return;
  }
  // Of this recording; a call may have been cut by the end of another one.
  static thread_local std::uint64_t recording = 0;
  static thread_local int runtime_calls_count = 0;
  if (recording != recording_) {
    recording = recording_;
    runtime_calls_count = 0;
  }
  if (call.callbackSite == CUPTI_API_ENTER) {
    *call.correlationData = is_driver && runtime_calls_count > 0 ? 0 : monotonic_time();
    runtime_calls_count += is_driver ? 0 : 1;
    return;
  }
  if (!is_driver && runtime_calls_count > 0) --runtime_calls_count;
  // Before the recording: the entry was not seen, and the number is none of ours.
  const auto begin_ns = static_cast<std::int64_t>(*call.correlationData);
  const std::int64_t end_ns = now_ns();
  if (begin_ns < started_ns_ || begin_ns > end_ns) return;
  CallLog::instance().add({.begin_ns = begin_ns,
                           .end_ns = end_ns,
                           .thread = this_thread(),
                           .correlation = call.correlationId,
                           .id = id,
                           .is_driver = is_driver ? 1U : 0U});
}

// A graph that is made ready to run is a clone, and its nodes have ids of their own.
void CuptiSession::note_node(const CUpti_GraphData& graph, bool is_clone) noexcept {
  std::uint64_t node = 0, original = 0;
  if (cuptiGetGraphNodeId(graph.node, &node) != CUPTI_SUCCESS) return;
  if (is_clone && cuptiGetGraphNodeId(graph.originalNode, &original) != CUPTI_SUCCESS) return;
  try {
    const std::lock_guard lock(nodes_mutex_);
    if (!is_clone) {
      captured_phases_[node] = phase_now_();
    } else if (const auto found = captured_phases_.find(original);
               found != captured_phases_.end()) {
      captured_phases_[node] = found->second;
    }
  } catch (const std::bad_alloc&) {
    return;  // its work will be in phase `graph`
  }
}

}  // namespace ddpprof

// This process's place as CUPTI's client: taken once, switched on and off.
#pragma once

#include "profiler/record/activity_buffers.h"
#include "profiler/record/call_log.h"
#include "profiler/record/cupti_records.h"
#include "profiler/trace/labels.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace ddpprof {

// Why CUPTI must not be used here, before it is touched: another major version than compiled for or
// an older one, or a tool that was started with this process and would lose its place. Empty: it
// may be tried.
// `cupti_version`: as cuptiGetVersion() tells; `variable`: reads the environment, null when unset.
std::string find_objection(std::uint32_t cupti_version,
                           const std::function<const char*(const char*)>& variable);

// Threads: all members from one thread, outside of steps. It must not be destroyed while recording:
// CUPTI writes into its buffers.
// Guarantees: after a failed call of CUPTI the rest goes on, and error() says which was the first.
class CuptiSession {
 public:
  // Called by CUPTI's callback when a part of a CUDA graph is made: the phase of the calling
  // thread. Must neither throw nor call CUDA.
  using PhaseNow = std::function<Phase()>;

  // Takes CUPTI's place and makes its settings; before CUDA is initialised. Null, and `reason` says
  // why, when that fails. One a process.
  static std::unique_ptr<CuptiSession> open(PhaseNow phase_now, std::string& reason);
  ~CuptiSession();
  CuptiSession(const CuptiSession&) = delete;
  CuptiSession& operator=(const CuptiSession&) = delete;

  // False: nothing is recorded; see error().
  bool start() noexcept;
  // The devices must be idle, so that all records are finished. Returns when all are read, and with
  // nothing of CUPTI left on the way of a call but its place; unless a CUDA graph was captured.
  void stop() noexcept;

  // What was recorded since the last call.
  DeviceRecords take_records();
  Losses take_losses() noexcept;
  // By node; kept, since a graph may be launched in any later recording.
  std::unordered_map<std::uint64_t, Phase> captured_phases();

  const std::string& error() const { return error_; }

 private:
  explicit CuptiSession(PhaseNow phase_now);
  bool take_place(std::string& reason);
  bool subscribe(std::string& reason);
  bool let_go() noexcept;
  bool knows_graphs() noexcept;
  void find_calls();
  bool failed(CUptiResult result, const char* call) noexcept;
  bool set_kinds(bool on) noexcept;
  void consume(std::span<const std::byte> buffer, BufferKind kind);
  void consume_calls(std::span<const std::byte> buffer);
  void note_call(const CUpti_CallbackData& call, CUpti_CallbackId id, bool is_driver) noexcept;
  void note_node(const CUpti_GraphData& graph, bool is_clone) noexcept;

  static void on_buffer_wanted(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
  static void on_buffer_done(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                             std::size_t size, std::size_t valid_size);
  static void on_event(void* session, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const void* data);

  PhaseNow phase_now_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::string error_;
  CallNames names_;
  std::vector<CUpti_CallbackId> needed_runtime_, needed_driver_;
  enum class Leaving : std::uint8_t { no, wanted, under_way, done, failed };
  std::atomic<Leaving> leaving_ = Leaving::no;
  std::atomic<std::uint64_t> recording_ = 0;  // its number, counted from 1
  std::atomic<std::int64_t> started_ns_ = 0;
  DeviceRecords records_;  // the consumer's while on
  std::atomic<std::int64_t> dropped_count_ = 0;
  std::mutex nodes_mutex_;
  std::unordered_map<std::uint64_t, Phase> captured_phases_;
  ActivityBuffers buffers_;  // last: its thread uses the others
};

}  // namespace ddpprof

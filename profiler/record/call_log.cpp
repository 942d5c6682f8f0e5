#include "profiler/record/call_log.h"

#include <cstring>
#include <thread>

namespace ddpprof {

namespace {

// Plain data, so that it may be read while the thread's other data are being destroyed.
constinit thread_local bool this_thread_has_ended = false;

}  // namespace

// The calling thread's slot; given back when the thread ends.
struct CallLog::ThreadSlot {
  ThreadSlot() = default;
  ~ThreadSlot() {
    this_thread_has_ended = true;
    if (slot != nullptr) slot->is_used = false;
  }
  ThreadSlot(const ThreadSlot&) = delete;
  ThreadSlot& operator=(const ThreadSlot&) = delete;
  Slot* slot = nullptr;
};

CallLog& CallLog::instance() noexcept {
  static constinit CallLog log;  // without a destructor
  return log;
}

void CallLog::start(ActivityBuffers& buffers) noexcept { buffers_ = &buffers; }

// A thread says that it is busy before it looks whether recording is on; this switches off before
// it looks who is busy. So either the thread sees that, or this waits for the thread.
void CallLog::stop() noexcept {
  ActivityBuffers* const buffers = buffers_.exchange(nullptr);
  if (buffers == nullptr) return;
  for (Slot& slot : slots_) {
    while (slot.is_busy) std::this_thread::yield();
    if (slot.buffer == nullptr) continue;
    buffers->give(slot.buffer, slot.size, BufferKind::calls);
    slot.buffer = nullptr;
  }
}

CallLog::Slot* CallLog::take_slot() noexcept {
  for (Slot& slot : slots_) {
    if (!slot.is_used.load(std::memory_order_relaxed) && !slot.is_used.exchange(true)) return &slot;
  }
  return nullptr;
}

void CallLog::add(const CallEntry& call) noexcept {
  if (this_thread_has_ended) {
    ++dropped_count_;
    return;
  }
  static thread_local ThreadSlot thread;
  if (thread.slot == nullptr) thread.slot = take_slot();
  if (thread.slot == nullptr) {
    ++dropped_count_;
    return;
  }
  thread.slot->is_busy = true;
  append(*thread.slot, call);
  thread.slot->is_busy = false;
}

void CallLog::append(Slot& slot, const CallEntry& call) noexcept {
  ActivityBuffers* const buffers = buffers_;
  if (buffers == nullptr) return;
  if (slot.buffer == nullptr) {
    slot.buffer = buffers->take();
    slot.size = 0;
  }
  if (slot.buffer == nullptr) {
    ++dropped_count_;
    return;
  }
  std::memcpy(slot.buffer + slot.size, &call, sizeof call);
  slot.size += sizeof call;
  if (slot.size + sizeof call <= ActivityBuffers::kBytes) return;
  buffers->give(slot.buffer, slot.size, BufferKind::calls);
  slot.buffer = nullptr;
}

}  // namespace ddpprof

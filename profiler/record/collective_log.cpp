#include "profiler/record/collective_log.h"

#include <algorithm>
#include <new>

namespace ddpprof {

std::uint32_t SmallNameTable::find(std::string_view name) const noexcept {
  const std::uint32_t count = count_.load(std::memory_order_acquire);
  for (std::uint32_t id = 0; id < count; ++id) {
    if (names_[id] == name) return id;
  }
  return kCapacity;
}

std::uint32_t SmallNameTable::intern(std::string_view name) noexcept {
  if (const std::uint32_t id = find(name); id != kCapacity) return id;
  const std::lock_guard lock(mutex_);
  if (const std::uint32_t id = find(name); id != kCapacity) return id;
  const std::uint32_t id = count_.load(std::memory_order_relaxed);
  if (id == kCapacity) return kCapacity;
  try {
    names_[id] = name;
  } catch (const std::bad_alloc&) {
    return kCapacity;
  }
  count_.store(id + 1, std::memory_order_release);
  return id;
}

CollectiveLog::CollectiveLog() : chunks_(kChunksCount) {}

CollectiveLog::Chunk* CollectiveLog::make_chunk(std::uint32_t number) noexcept {
  const std::lock_guard lock(mutex_);
  if (Chunk* const chunk = chunks_[number].load(std::memory_order_relaxed)) return chunk;
  try {
    owned_.push_back(std::make_unique<Chunk>());
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  chunks_[number].store(owned_.back().get(), std::memory_order_release);
  return owned_.back().get();
}

void CollectiveLog::reserve(std::uint32_t count) noexcept {
  const std::uint32_t first = next_.load(std::memory_order_relaxed) / kChunkSize;
  const std::uint32_t last = std::min(first + count / kChunkSize + 1, kChunksCount);
  for (std::uint32_t number = first; number < last; ++number) make_chunk(number);
}

CollectiveLog::Slot* CollectiveLog::find(std::uint32_t index) const noexcept {
  const std::uint32_t number = index / kChunkSize;
  if (number >= kChunksCount) return nullptr;
  Chunk* const chunk = chunks_[number].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSize];
}

CollectiveHandle CollectiveLog::begin(const CollectiveStart& start) noexcept {
  const std::int64_t ready_ns = now_ns();
  const std::uint32_t communicator = communicators_.intern(start.communicator);
  if (communicator == SmallNameTable::kCapacity) return {};
  // Checked before it is raised, so that the counter never wraps round.
  if (next_.load(std::memory_order_relaxed) >= kChunkSize * (kChunksCount - 1)) return {};
  const std::uint32_t index = next_.fetch_add(1, std::memory_order_relaxed);
  Slot* slot = find(index);
  if (slot == nullptr && index / kChunkSize < kChunksCount) {
    if (make_chunk(index / kChunkSize) != nullptr) slot = find(index);
  }
  if (slot == nullptr) return {};
  slot->collective = {.kind = start.kind,
                      .communicator = {communicator},
                      .sequence = start.sequence,
                      .bytes = start.bytes,
                      .element_type = start.element_type,
                      .gradient = start.gradient,
                      .bucket = start.bucket,
                      .root = start.root,
                      .device = start.device,
                      .ready_ns = ready_ns,
                      .span = {ready_ns, ready_ns},
                      .work = std::nullopt};
  slot->state.store(State::open, std::memory_order_release);
  return {index};
}

void CollectiveLog::end(CollectiveHandle handle) noexcept {
  const std::int64_t end_ns = now_ns();
  Slot* const slot = find(handle.index);
  if (slot == nullptr) return;
  State open = State::open;
  if (!slot->state.compare_exchange_strong(open, State::ending, std::memory_order_acquire)) return;
  slot->collective.span.end_ns = end_ns;
  slot->state.store(State::ended, std::memory_order_release);
}

std::vector<Collective> CollectiveLog::drain(std::vector<std::int64_t>& given_up_ns,
                                             std::vector<std::uint32_t>* indices) {
  std::vector<Collective> collectives;
  const std::uint32_t next = next_.load(std::memory_order_relaxed);
  collectives.reserve(next - drained_);
  for (; drained_ < next; ++drained_) {
    Slot* const slot = find(drained_);
    if (slot == nullptr) continue;  // begin() had no memory for it and said so
    const State state = slot->state.exchange(State::given_up, std::memory_order_acquire);
    if (state == State::ended) {
      collectives.push_back(slot->collective);
      if (indices != nullptr) indices->push_back(drained_);
    } else {
      // A slot that is being filled has no time yet; nothing but now is known.
      given_up_ns.push_back(state == State::unused ? now_ns() : *slot->collective.ready_ns);
    }
  }
  return collectives;
}

}  // namespace ddpprof

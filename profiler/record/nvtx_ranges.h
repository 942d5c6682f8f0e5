// Steps and scopes as NVTX ranges, for a tool that collects them (Nsight Systems): domain
// "ddpprof".
#pragma once

#include "profiler/record/collective_log.h"
#include "profiler/record/device_source.h"

#include <array>
#include <atomic>
#include <cstdint>

struct nvtxDomainRegistration_st;
struct nvtxStringRegistration_st;

namespace ddpprof {

// A range a step ("step", its index as payload) and a scope (its name; category = phase; replica as
// payload). Names are registered once, so that a range costs no copy of a text.
// Threads: any; ranges of a thread nest.
class NvtxRanges {
 public:
  // Opens the domain; it is closed, and nothing is sent, where no tool listens.
  NvtxRanges() noexcept;
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  bool is_on() const { return domain_ != nullptr; }

  void begin_step(std::int64_t index) noexcept;
  void begin_scope(const HostScope& scope) noexcept;
  // Of the calling thread's innermost range.
  void end() noexcept;

 private:
  nvtxStringRegistration_st* registered(std::string_view name) noexcept;

  nvtxDomainRegistration_st* domain_;
  SmallNameTable names_;
  std::array<std::atomic<nvtxStringRegistration_st*>, SmallNameTable::kCapacity> registrations_ =
      {};
};

}  // namespace ddpprof

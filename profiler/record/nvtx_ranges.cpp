#include "profiler/record/nvtx_ranges.h"

#include "profiler/trace/labels.h"

#include <string>

#include <nvtx3/nvToolsExt.h>

namespace ddpprof {
namespace {

// Categories are numbers above 0.
std::uint32_t category_of(Phase phase) { return static_cast<std::uint32_t>(phase) + 1; }

nvtxEventAttributes_t empty_attributes() {
  nvtxEventAttributes_t attributes = {};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return attributes;
}

void set_payload(nvtxEventAttributes_t& attributes, std::int64_t value) {
  attributes.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  attributes.payload.llValue = value;
}

}  // namespace

NvtxRanges::NvtxRanges() noexcept : domain_(nvtxDomainCreateA("ddpprof")) {
  if (domain_ == nullptr) return;
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
    nvtxDomainNameCategoryA(domain_, category_of(static_cast<Phase>(phase)),
                            std::string(kPhaseNames[phase]).c_str());
  }
}

NvtxRanges::~NvtxRanges() {
  if (domain_ != nullptr) nvtxDomainDestroy(domain_);
}

void NvtxRanges::begin_step(std::int64_t index) noexcept {
  if (domain_ == nullptr) return;
  nvtxEventAttributes_t attributes = empty_attributes();
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered("step");
  set_payload(attributes, index);
  nvtxDomainRangePushEx(domain_, &attributes);
}

void NvtxRanges::begin_scope(const HostScope& scope) noexcept {
  if (domain_ == nullptr) return;
  nvtxEventAttributes_t attributes = empty_attributes();
  attributes.category = category_of(scope.phase);
  attributes.colorType = NVTX_COLOR_ARGB;
  attributes.color = color_of(scope.phase);
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered(scope.name);
  if (scope.replica) set_payload(attributes, *scope.replica);
  nvtxDomainRangePushEx(domain_, &attributes);
}

void NvtxRanges::end() noexcept {
  if (domain_ != nullptr) nvtxDomainRangePop(domain_);
}

// Two threads may register the same new name: the tool gives both the same string.
nvtxStringRegistration_st* NvtxRanges::registered(std::string_view name) noexcept {
  const std::uint32_t id = names_.intern(name);
  if (id == SmallNameTable::kCapacity) return nullptr;
  nvtxStringRegistration_st* known = registrations_[id].load(std::memory_order_acquire);
  if (known == nullptr) {
    known = nvtxDomainRegisterStringA(domain_, names_.name(id).c_str());
    registrations_[id].store(known, std::memory_order_release);
  }
  return known;
}

}  // namespace ddpprof

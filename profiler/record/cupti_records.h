// From CUPTI's activity records to ours. Pure: no state, no device, no library call.
#pragma once

#include "profiler/record/call_log.h"
#include "profiler/record/device_records.h"

#include <string>
#include <vector>

#include <cupti.h>

namespace ddpprof {

// The record structs of this version of CUPTI. Fields are appended from version to version, so a
// newer library of the same major version fills at least these.
// Source: CUPTI 13.0 update 1, cupti_activity.h.
static_assert(CUPTI_API_VERSION >= 130001 && CUPTI_API_VERSION < 140000,
              "look up which record structs this version of CUPTI delivers");
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
using PeerCopyRecord = CUpti_ActivityMemcpyPtoP4;
using SetRecord = CUpti_ActivityMemset4;
using OverheadRecord = CUpti_ActivityOverhead3;

// The names of all calls, by cbid, as cuptiGetCallbackName() gives them; empty where it gives none.
struct CallNames {
  std::vector<std::string> runtime, driver;
};

// Adds a call.
void append_call(const CallEntry& call, const CallNames& names, DeviceRecords& records);

// Adds what one record says. Kinds that are not asked for add nothing. What was
// not finished when it was delivered (a time is 0) counts as incomplete.
void append_record(const CUpti_Activity& record, DeviceRecords& records);

}  // namespace ddpprof

// CUPTI's records, made by hand.
#include "profiler/record/cupti_records.h"

#include "profiler/record/cupti_session.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace ddpprof {
namespace {

template <typename Record>
Record record_of(CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  return record;
}

template <typename Record>
const CUpti_Activity& as_activity(const Record& record) {
  return reinterpret_cast<const CUpti_Activity&>(record);
}

template <typename Record>
DeviceRecords append(const Record& record) {
  DeviceRecords records;
  append_record(as_activity(record), records);
  return records;
}

template <typename Record>
Record work_record(CUpti_ActivityKind kind) {
  Record record = record_of<Record>(kind);
  record.start = 1'000;
  record.end = 1'500;
  record.deviceId = 2;
  record.streamId = 17;
  record.correlationId = 99;
  return record;
}

void expect_where_and_when(const DeviceRecords& records) {
  ASSERT_EQ(records.operations.size(), 1u);
  const DeviceOperation& one = records.operations[0];
  EXPECT_EQ(one.span, (Span{1'000, 1'500}));
  EXPECT_EQ(one.ordinal, 2);
  EXPECT_EQ(one.stream, 17);
  EXPECT_EQ(one.correlation, 99);
}

TEST(CuptiRecords, KernelsComputeOrCommunicate) {
  auto kernel = work_record<KernelRecord>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  kernel.name = "_Z4gemmv";
  kernel.graphNodeId = 5;
  const DeviceRecords records = append(kernel);
  expect_where_and_when(records);
  EXPECT_EQ(records.operations[0].activity, Activity::compute);
  EXPECT_EQ(records.operations[0].graph_node, 5u);
  EXPECT_EQ(records.names[records.operations[0].name], "_Z4gemmv");
  kernel.name = "_Z32ncclDevKernel_AllReduce_Sum_f32_v";
  EXPECT_EQ(append(kernel).operations[0].activity, Activity::communication);
  kernel.name = nullptr;
  EXPECT_EQ(append(kernel).names[0], "kernel");
}

TEST(CuptiRecords, CopiesSayFromWhereToWhere) {
  auto copy = work_record<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  const DeviceRecords records = append(copy);
  expect_where_and_when(records);
  EXPECT_EQ(records.names[0], "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(records.operations[0].activity, Activity::copy);
  EXPECT_EQ(records.operations[0].bytes, 4096);
  EXPECT_TRUE(records.synchronizing.empty());
}

TEST(CuptiRecords, CopiesIntoPageableMemoryHoldUpTheHost) {
  auto copy = work_record<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  EXPECT_EQ(append(copy).synchronizing, (std::vector<std::int64_t>{99}));
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  EXPECT_TRUE(append(copy).synchronizing.empty());
}

TEST(CuptiRecords, CopiesBetweenDevicesCommunicate) {
  auto copy = work_record<PeerCopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY2);
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
  copy.srcKind = copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 64;
  copy.srcDeviceId = 2;
  copy.dstDeviceId = 0;
  const DeviceRecords records = append(copy);
  expect_where_and_when(records);
  EXPECT_EQ(records.names[0], "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(records.operations[0].activity, Activity::communication);
  EXPECT_EQ(records.operations[0].bytes, 64);
  copy.dstDeviceId = 2;
  EXPECT_EQ(append(copy).operations[0].activity, Activity::copy);
}

TEST(CuptiRecords, SetsAreCopies) {
  auto set = work_record<SetRecord>(CUPTI_ACTIVITY_KIND_MEMSET);
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  set.bytes = 12;
  const DeviceRecords records = append(set);
  expect_where_and_when(records);
  EXPECT_EQ(records.names[0], "Memset (Device)");
  EXPECT_EQ(records.operations[0].activity, Activity::copy);
  EXPECT_EQ(records.operations[0].bytes, 12);
}

TEST(CuptiRecords, WorkWithoutTimesIsCountedAndLeftOut) {
  auto kernel = work_record<KernelRecord>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  kernel.end = 0;
  const DeviceRecords records = append(kernel);
  EXPECT_TRUE(records.operations.empty());
  EXPECT_EQ(records.incomplete_count, 1);
}

DeviceRecords append(const CallEntry& call, const CallNames& names) {
  DeviceRecords records;
  append_call(call, names, records);
  return records;
}

TEST(CuptiRecords, CallsHaveTheNamesOfTheirDomain) {
  const CallNames names{.runtime = {"", "cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020"},
                        .driver = {"", "cuLaunchKernelEx"}};
  CallEntry call{
      .begin_ns = 10, .end_ns = 25, .thread = 4711, .correlation = 99, .id = 1, .is_driver = 0};
  const DeviceRecords records = append(call, names);
  ASSERT_EQ(records.calls.size(), 1u);
  EXPECT_EQ(records.calls[0].span, (Span{10, 25}));
  EXPECT_EQ(records.calls[0].thread, 4711u);
  EXPECT_EQ(records.calls[0].correlation, 99);
  EXPECT_EQ(records.names[records.calls[0].name], "cudaLaunchKernel");
  EXPECT_TRUE(records.synchronizing.empty());

  call.id = 2;
  EXPECT_EQ(append(call, names).synchronizing, (std::vector<std::int64_t>{99}));
  call.is_driver = 1;
  call.id = 1;
  EXPECT_EQ(append(call, names).names[0], "cuLaunchKernelEx");
  call.id = 1000;
  EXPECT_EQ(append(call, names).names[0], "") << "a call newer than this program";
}

// CUPTI counts from 1 again in each recording.
TEST(CuptiRecords, CorrelationsOfTwoRecordingsDiffer) {
  const CallNames names{.runtime = {"", "cudaMemcpy_v3020"}, .driver = {}};
  auto copy = work_record<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY);
  const CallEntry call{
      .begin_ns = 10, .end_ns = 25, .thread = 1, .correlation = 99, .id = 1, .is_driver = 0};
  DeviceRecords records;
  for (const std::int64_t base : {0, 1'000'000}) {
    records.correlation_base = base;
    append_record(as_activity(copy), records);
    append_call(call, names, records);
  }
  EXPECT_EQ(records.operations[1].correlation, 1'000'099);
  EXPECT_EQ(records.calls[1].correlation, 1'000'099);
  EXPECT_EQ(records.synchronizing, (std::vector<std::int64_t>{99, 1'000'099}));
}

TEST(CuptiRecords, OverheadsAddUpByKind) {
  DeviceRecords records;
  auto overhead = record_of<OverheadRecord>(CUPTI_ACTIVITY_KIND_OVERHEAD);
  overhead.start = 100;
  overhead.end = 130;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  append_record(as_activity(overhead), records);
  append_record(as_activity(overhead), records);
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
  append_record(as_activity(overhead), records);
  EXPECT_EQ(records.overheads_ns, (std::map<std::string, std::int64_t>{{"CUPTI buffer flush", 60}}))
      << "functions are loaded without CUPTI as well";
}

TEST(CuptiRecords, OtherKindsAddNothing) {
  const DeviceRecords records =
      append(record_of<CUpti_ActivityDevice5>(CUPTI_ACTIVITY_KIND_DEVICE));
  EXPECT_TRUE(records.operations.empty());
  EXPECT_TRUE(records.calls.empty());
}

TEST(CuptiRecords, NamesAreKeptOnce) {
  DeviceRecords records;
  auto kernel = work_record<KernelRecord>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  for (const char* name : {"a", "b", "a"}) {
    kernel.name = name;
    append_record(as_activity(kernel), records);
  }
  EXPECT_EQ(records.names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(records.operations[2].name, records.operations[0].name);
}

std::string objection(std::uint32_t version, std::map<std::string, std::string> environment = {}) {
  return find_objection(version, [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

TEST(CuptiObjection, IsNoneForTheVersionCompiledForAndNewerOnes) {
  EXPECT_EQ(objection(CUPTI_API_VERSION), "");
  EXPECT_EQ(objection(130'200), "");
  EXPECT_EQ(objection(CUPTI_API_VERSION, {{"LD_PRELOAD", "libjemalloc.so"}}), "");
}

TEST(CuptiObjection, NamesBothVersions) {
  EXPECT_EQ(objection(130'000), "CUPTI is 13.0.0, compiled for 13.0.1");
  EXPECT_EQ(objection(120'801), "CUPTI is 12.8.1, compiled for 13.0.1");
  EXPECT_EQ(objection(140'000), "CUPTI is 14.0.0, compiled for 13.0.1") << "fields may have moved";
}

TEST(CuptiObjection, IsAToolThatWouldLoseItsPlace) {
  EXPECT_NE(objection(CUPTI_API_VERSION, {{"NSYS_PROFILING_SESSION_ID", "7"}})
                .find("NSYS_PROFILING_SESSION_ID is set"),
            std::string::npos);
  EXPECT_NE(objection(CUPTI_API_VERSION, {{"CUDA_INJECTION64_PATH", "/x.so"}}), "");
  EXPECT_NE(objection(CUPTI_API_VERSION, {{"LD_PRELOAD", "/opt/libToolsInjection64.so"}}), "");
}

}  // namespace
}  // namespace ddpprof

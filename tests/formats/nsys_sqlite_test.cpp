// What `nsys stats` needs of a file of ours, in queries of our own: tables, columns and joins.
#include "profiler/formats/nsys_sqlite.h"

#include "profiler/formats/launch_ranges.h"
#include "tests/formats/random_trace.h"
#include "tests/formats/small_trace.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace ddpprof {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// A file's content, opened as SQLite opens a file.
class Database {
 public:
  explicit Database(const std::string& content) {
    EXPECT_EQ(sqlite3_open(":memory:", &handle_), SQLITE_OK);
    auto* const copy = static_cast<unsigned char*>(sqlite3_malloc64(content.size()));
    std::memcpy(copy, content.data(), content.size());
    const auto size = static_cast<sqlite3_int64>(content.size());
    EXPECT_EQ(sqlite3_deserialize(handle_, "main", copy, size, size,
                                  SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY),
              SQLITE_OK);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // NULL is "-".
  Rows query(const std::string& sql) const {
    Rows rows;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(handle_) << " in " << sql;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::vector<std::string> row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.emplace_back(text == nullptr ? "-" : text);
      }
      rows.push_back(row);
    }
    sqlite3_finalize(statement);
    return rows;
  }

  std::string value(const std::string& sql) const {
    const Rows rows = query(sql);
    return rows.empty() ? "" : rows.front().front();
  }

  bool has_table(const std::string& name) const {
    return value("SELECT count(*) FROM sqlite_master WHERE name = '" + name + "'") == "1";
  }

 private:
  sqlite3* handle_ = nullptr;
};

// Both ranks of the small job, which share a boot.
std::vector<Trace> two_ranks() {
  std::vector<Trace> traces = {test::small_trace(), test::small_trace()};
  traces[0].info.rank = 0;
  return traces;
}

Database written(const std::vector<Trace>& traces) { return Database(write_nsys_sqlite(traces)); }

// Source: schema 3.20.3 of nsys' export.
const std::map<std::string, std::string> kColumns = {
    {"StringIds", "id,value"},
    {"ThreadNames", "nameId,priority,globalTid"},
    {"PROCESSES", "globalPid,pid,name"},
    {"ANALYSIS_DETAILS", "globalVid,duration,startTime,stopTime"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs,utcTime,localTime"},
    {"TARGET_INFO_CUDA_DEVICE", "gpuId,cudaId,pid"},
    {"TARGET_INFO_CUDA_CONTEXT_INFO",
     "nullStreamId,hwId,vmId,processId,deviceId,contextId,parentContextId,isGreenContext"},
    {"TARGET_INFO_CUDA_STREAM", "streamId,hwId,vmId,processId,contextId,priority,flag"},
    {"TARGET_INFO_GPU",
     "vmId,id,name,busLocation,isDiscrete,l2CacheSize,totalMemory,memoryBandwidth,clockRate,"
     "smCount,"
     "pwGpuId,uuid,luid,chipName,cuDevice,ctxswDevPath,ctrlDevPath,revision,nodeMask,"
     "constantMemory,"
     "maxIPC,maxRegistersPerBlock,maxShmemPerBlock,maxShmemPerBlockOptin,maxShmemPerSm,"
     "maxRegistersPerSm,threadsPerWarp,asyncEngines,maxWarpsPerSm,maxBlocksPerSm,"
     "maxThreadsPerBlock,"
     "maxBlockDimX,maxBlockDimY,maxBlockDimZ,maxGridDimX,maxGridDimY,maxGridDimZ,computeMajor,"
     "computeMinor,smMajor,smMinor"},
    {"NVTX_EVENTS",
     "start,end,eventType,rangeId,category,color,text,globalTid,endGlobalTid,textId,domainId,"
     "uint64Value,int64Value,doubleValue,uint32Value,int32Value,floatValue,jsonTextId,jsonText,"
     "binaryData"},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start,end,deviceId,contextId,greenContextId,streamId,correlationId,globalPid,demangledName,"
     "shortName,mangledName,launchType,cacheConfig,registersPerThread,gridX,gridY,gridZ,blockX,"
     "blockY,blockZ,staticSharedMemory,dynamicSharedMemory,localMemoryPerThread,localMemoryTotal,"
     "gridId,sharedMemoryExecuted,graphNodeId,sharedMemoryLimitConfig"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start,end,deviceId,contextId,greenContextId,streamId,correlationId,globalPid,bytes,copyKind,"
     "deprecatedSrcId,srcKind,dstKind,srcDeviceId,srcContextId,dstDeviceId,dstContextId,"
     "migrationCause,graphNodeId,virtualAddress,copyCount"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start,end,deviceId,contextId,greenContextId,streamId,correlationId,globalPid,value,bytes,"
     "graphNodeId,memKind"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start,end,eventClass,globalTid,correlationId,nameId,returnValue,callchainId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start,end,deviceId,contextId,greenContextId,streamId,correlationId,globalPid,"
     "deprecatedSyncType,syncType,eventId,eventSyncId"},
    {"ENUM_CUDA_MEMCPY_OPER", "id,name,label"},
    {"ENUM_CUDA_MEM_KIND", "id,name,label"},
    {"ENUM_CUPTI_SYNC_TYPE", "id,name,label"},
    {"ENUM_CUPTI_STREAM_TYPE", "id,name,label"},
    {"ENUM_CUDA_KERNEL_LAUNCH_TYPE", "id,name,label"},
    {"ENUM_NSYS_EVENT_TYPE", "id,name,label"},
    {"ENUM_NSYS_EVENT_CLASS", "id,name,label"},
    {"META_DATA_EXPORT", "name,value"},
    {"META_DATA_CAPTURE", "name,value"}};

TEST(NsysSqlite, HasEveryColumnOfTheSchema) {
  const Database database = written(two_ranks());
  for (const auto& [table, columns] : kColumns) {
    EXPECT_EQ(database.value("SELECT group_concat(name) FROM pragma_table_info('" + table + "')"),
              columns)
        << table;
  }
}

TEST(NsysSqlite, SaysWhoMadeItAndInWhichSchema) {
  const Database database = written(two_ranks());
  const auto fact = [&](const std::string& name) {
    return database.value("SELECT value FROM META_DATA_EXPORT WHERE name = '" + name + "'");
  };
  EXPECT_EQ(fact("EXPORT_PRODUCT_NAME"), "ddpprof");
  EXPECT_EQ(fact("EXPORT_SCHEMA_VERSION"), "3.20.3");
}

TEST(NsysSqlite, HasAProcessARankWhoseIdsFit) {
  const Database database = written(two_ranks());
  EXPECT_EQ(database.query("SELECT globalPid >> 24, pid, name FROM PROCESSES"),
            (Rows{{"1", "1", "ddp rank 0"}, {"2", "2", "ddp rank 1"}}));
  EXPECT_EQ(
      database.query("SELECT t.globalTid & 0xFFFFFF, s.value FROM ThreadNames t JOIN StringIds "
                     "s ON s.id = t.nameId WHERE t.globalTid >> 24 = 2"),
      (Rows{{"1", "main"}, {"2", "replica 1"}}));
}

// As cuda_gpu_kern_sum does.
TEST(NsysSqlite, SumsKernelsByName) {
  EXPECT_EQ(written({test::small_trace()})
                .query("SELECT s.value, count(*), sum(k.end - k.start) FROM "
                       "CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName "
                       "GROUP BY 1 ORDER BY 1"),
            (Rows{{"ampere_sgemm_128x64_tn", "1", "90000"},
                  {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "1", "400000"}}));
}

TEST(NsysSqlite, HasThreeNamesOfAKernel) {
  Trace trace = test::small_trace();
  trace.names[trace.work.front().name.index] = "_ZN2at6nativeIfE6kernelEi";
  EXPECT_EQ(
      written({trace}).query(
          "SELECT d.value, s.value, m.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds d "
          "ON d.id = k.demangledName JOIN StringIds s ON s.id = k.shortName JOIN StringIds m ON "
          "m.id = k.mangledName ORDER BY k.start LIMIT 1"),
      (Rows{{"at::native<float>::kernel(int)", "kernel", "_ZN2at6nativeIfE6kernelEi"}}));
  trace.names[trace.work.front().name.index] =
      "void at::(anonymous namespace)::Part<A<int>>::copy<B<(bool)1>, C>(int, D<float>)";
  EXPECT_EQ(
      written({trace}).value("SELECT s.value FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s "
                             "ON s.id = k.shortName ORDER BY k.start LIMIT 1"),
      "copy");
}

// As nvtx_kern_sum does: the call that launched the kernel lies in the range, on its thread.
TEST(NsysSqlite, TellsWhichRangeLaunchedAKernel) {
  EXPECT_EQ(
      written(two_ranks())
          .query("SELECT n.globalTid >> 24, s.value, c.text FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN "
                 "CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = k.correlationId AND "
                 "k.globalPid = "
                 "r.globalTid & 0xFFFFFFFFFF000000 JOIN NVTX_EVENTS n ON n.eventType = 59 AND "
                 "n.globalTid = r.globalTid AND n.start <= r.start AND n.end >= r.end AND "
                 "n.endGlobalTid IS NULL JOIN StringIds s ON s.id = n.textId LEFT JOIN NVTX_EVENTS "
                 "c ON "
                 "c.eventType = 33 AND c.category = n.category AND c.domainId = n.domainId AND "
                 "c.globalTid >> 24 = n.globalTid >> 24 ORDER BY 1, 2"),
      (Rows{{"1", "DistributedDataParallel.forward", "forward"},
            {"1", "step", "-"},
            {"2", "DistributedDataParallel.forward", "forward"},
            {"2", "step", "-"}}));
}

TEST(NsysSqlite, GivesLaunchesOfAutogradThePhaseOfMain) {
  Trace trace = test::small_trace();
  trace.threads.push_back({.system_id = 4730, .life = {}, .name = "autograd", .replica = {}});
  Call call = trace.calls[0];
  call.thread = {2};
  trace.calls = {call};  // while main is in its forward
  EXPECT_EQ(written({trace}).query(
                "SELECT s.value, n.globalTid & 0xFFFFFF, n.category, n.end - n.start FROM "
                "NVTX_EVENTS n JOIN StringIds s ON s.id = n.textId WHERE n.eventType = 59 AND "
                "s.value LIKE '%(launches)'"),
            (Rows{{"DistributedDataParallel.forward (launches)", "3",
                   std::to_string(static_cast<int>(Phase::forward) + 1), "4999"}}));
}

// As cuda_gpu_mem_time_sum does.
TEST(NsysSqlite, NamesCopiesAndTheirMemories) {
  const Database database = written({test::small_trace()});
  EXPECT_EQ(database.query("SELECT o.label, a.label, b.label, m.bytes, m.end - m.start FROM "
                           "CUPTI_ACTIVITY_KIND_MEMCPY m JOIN ENUM_CUDA_MEMCPY_OPER o ON o.id = "
                           "m.copyKind JOIN ENUM_CUDA_MEM_KIND a ON a.id = m.srcKind JOIN "
                           "ENUM_CUDA_MEM_KIND b ON b.id = m.dstKind ORDER BY m.start"),
            (Rows{{"Host-to-Device", "Pinned", "Device", "65536", "1000"},
                  {"Peer-to-Peer", "Device", "Device", "512", "10000"}}));
  EXPECT_EQ(database.query("SELECT k.label, m.bytes FROM CUPTI_ACTIVITY_KIND_MEMSET m JOIN "
                           "ENUM_CUDA_MEM_KIND k ON k.id = m.memKind"),
            (Rows{{"Device", "4"}}));
}

TEST(NsysSqlite, LeavesOutWhatTheRecordingDoesNotTell) {
  const Database database = written({test::small_trace()});
  EXPECT_EQ(database.query("SELECT gridX, registersPerThread, launchType FROM "
                           "CUPTI_ACTIVITY_KIND_KERNEL LIMIT 1"),
            (Rows{{"-", "-", "-"}}));
  // No record of its launch, so it must join none.
  EXPECT_EQ(
      database.value("SELECT correlationId FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE bytes = 512"),
      "-");
  const Database phases = written({test::phases_trace()});
  EXPECT_FALSE(phases.has_table("CUPTI_ACTIVITY_KIND_KERNEL"));
  EXPECT_FALSE(phases.has_table("CUPTI_ACTIVITY_KIND_RUNTIME"));
  EXPECT_EQ(phases.query("SELECT DISTINCT s.value FROM NVTX_EVENTS n JOIN StringIds s ON s.id = "
                         "n.textId WHERE n.eventType = 60 AND n.category IS NOT NULL ORDER BY 1"),
            (Rows{{"GPU 1 backward"}, {"GPU 1 data"}, {"GPU 1 forward"}, {"GPU 1 other"}}));
}

TEST(NsysSqlite, HoldsNoTextThatReadersRefuse) {
  Trace trace = test::small_trace();
  trace.names[trace.scopes.front().name.index] = std::string("a\xff\0b", 4);
  trace.threads.front().name = "\xc3";
  const Database database = written({trace});
  EXPECT_EQ(database.value("SELECT count(*) FROM StringIds WHERE value = 'a\xEF\xBF\xBD"
                           "\xEF\xBF\xBD"
                           "b'"),
            "1");
  EXPECT_EQ(database.value("SELECT count(*) FROM StringIds WHERE value = '\xEF\xBF\xBD'"), "1");
}

TEST(NsysSqlite, KnowsWhichCallsWait) {
  EXPECT_EQ(written({test::small_trace()})
                .query("SELECT e.label, s.streamId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s JOIN "
                       "ENUM_CUPTI_SYNC_TYPE e ON e.id = s.syncType"),
            (Rows{{"Stream sync", "4294967295"}}));
}

TEST(NsysSqlite, CountsFromTheFirstEventAndKnowsTheTimeOfDay) {
  const Database database = written({test::small_trace()});
  EXPECT_EQ(database.value("SELECT min(start) FROM NVTX_EVENTS WHERE eventType = 59"), "0");
  // The first step begins at 2 ms of the monotonic clock.
  EXPECT_EQ(database.value("SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME"),
            "1700000000002000000");
}

TEST(NsysSqlite, PutsHostsOnOneClockByTheTimeOfDay) {
  std::vector<Trace> traces = two_ranks();
  traces[1].info.boot_id = "other";
  traces[1].info.clock_begin.real_ns += 5'000;
  EXPECT_EQ(
      written(traces).query("SELECT globalTid >> 24, min(start) FROM NVTX_EVENTS WHERE eventType "
                            "= 59 GROUP BY 1"),
      (Rows{{"1", "0"}, {"2", "5000"}}));
}

TEST(NsysSqlite, TellsApartGpusOfRanksThatSeeOneEach) {
  std::vector<Trace> traces = two_ranks();
  for (Trace& trace : traces) {
    trace.info.devices.front().number = 0;
    for (Work& work : trace.work) work.device = 0;
  }
  EXPECT_EQ(written(traces).query("SELECT DISTINCT deviceId, globalPid >> 24 FROM "
                                  "CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1"),
            (Rows{{"0", "1"}, {"1", "2"}}));
  EXPECT_EQ(written(traces).query("SELECT id FROM TARGET_INFO_GPU ORDER BY 1"),
            (Rows{{"0"}, {"1"}}));
}

TEST(NsysSqlite, HoldsEveryRecordOfAnyTraceAndTheSameBytesEachTime) {
  test::Random random(5);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Trace> traces = {test::random_trace(random), test::random_trace(random)};
    const std::string content = write_nsys_sqlite(traces);
    EXPECT_EQ(content, write_nsys_sqlite(traces));
    const Database database(content);
    EXPECT_EQ(database.value("PRAGMA integrity_check"), "ok");
    std::size_t work = 0, calls = 0, ranges = 0;
    for (const Trace& trace : traces) {
      work += trace.work.size();
      calls += trace.calls.size();
      ranges += trace.steps.size() + trace.scopes.size() + trace.collectives.size() +
                trace.device_phases.size() + find_launch_ranges(trace).size();
    }
    const auto rows = [&](const std::string& table, const std::string& where = "1") {
      return database.has_table(table)
                 ? std::stoul(database.value("SELECT count(*) FROM " + table + " WHERE " + where))
                 : 0UL;
    };
    EXPECT_EQ(rows("CUPTI_ACTIVITY_KIND_KERNEL") + rows("CUPTI_ACTIVITY_KIND_MEMCPY") +
                  rows("CUPTI_ACTIVITY_KIND_MEMSET"),
              work);
    EXPECT_EQ(rows("CUPTI_ACTIVITY_KIND_RUNTIME"), calls);
    EXPECT_EQ(rows("NVTX_EVENTS", "eventType IN (59, 60)"), ranges);
  }
}

TEST(NsysSqlite, OfNothingIsAFileWithoutEvents) {
  const Database database(write_nsys_sqlite({}));
  EXPECT_EQ(database.value("PRAGMA integrity_check"), "ok");
  EXPECT_FALSE(database.has_table("NVTX_EVENTS"));
}

}  // namespace
}  // namespace ddpprof

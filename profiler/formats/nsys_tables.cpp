#include "profiler/formats/nsys_tables.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace ddpprof {
namespace {

// `columns`: INTEGER where no type stands; NN is NOT NULL, PK is PRIMARY KEY.
struct Table {
  const char* name;
  const char* columns;
};

constexpr Table kTables[] = {
    {"META_DATA_EXPORT", "name TEXT NN, value TEXT"},
    {"META_DATA_CAPTURE", "name TEXT NN, value TEXT"},
    {"StringIds", "id NN PK, value TEXT NN"},
    {"ThreadNames", "nameId NN, priority, globalTid"},
    {"PROCESSES", "globalPid, pid, name TEXT"},
    {"ANALYSIS_DETAILS", "globalVid NN, duration NN, startTime NN, stopTime NN"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs, utcTime TEXT, localTime TEXT"},
    {"TARGET_INFO_GPU",
     "vmId NN, id NN, name TEXT, busLocation TEXT, isDiscrete, l2CacheSize, totalMemory, "
     "memoryBandwidth, clockRate, smCount, pwGpuId, uuid TEXT, luid, chipName TEXT, "
     "cuDevice, ctxswDevPath TEXT, ctrlDevPath TEXT, revision, nodeMask, constantMemory, "
     "maxIPC, maxRegistersPerBlock, maxShmemPerBlock, maxShmemPerBlockOptin, "
     "maxShmemPerSm, maxRegistersPerSm, threadsPerWarp, asyncEngines, maxWarpsPerSm, "
     "maxBlocksPerSm, maxThreadsPerBlock, maxBlockDimX, maxBlockDimY, maxBlockDimZ, "
     "maxGridDimX, maxGridDimY, maxGridDimZ, computeMajor, computeMinor, smMajor, smMinor"},
    {"TARGET_INFO_CUDA_CONTEXT_INFO",
     "nullStreamId NN, hwId NN, vmId NN, processId NN, deviceId NN, contextId NN, "
     "parentContextId, isGreenContext"},
    {"TARGET_INFO_CUDA_STREAM",
     "streamId NN, hwId NN, vmId NN, processId NN, contextId NN, priority NN, flag NN"},
    {"TARGET_INFO_CUDA_DEVICE", "gpuId, cudaId NN, pid NN"},
    {"NVTX_EVENTS",
     "start NN, end, eventType NN, rangeId, category, color, text TEXT, globalTid, "
     "endGlobalTid, textId, domainId, uint64Value, int64Value, doubleValue REAL, "
     "uint32Value, int32Value, floatValue REAL, jsonTextId, jsonText TEXT, binaryData TEXT"},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start NN, end NN, deviceId NN, contextId NN, greenContextId, streamId NN, "
     "correlationId, globalPid, demangledName NN, shortName NN, mangledName, launchType, "
     "cacheConfig, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, "
     "staticSharedMemory, dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, "
     "gridId, sharedMemoryExecuted, graphNodeId, sharedMemoryLimitConfig"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start NN, end NN, deviceId NN, contextId NN, greenContextId, streamId NN, "
     "correlationId, globalPid, bytes NN, copyKind NN, deprecatedSrcId, srcKind, dstKind, "
     "srcDeviceId, srcContextId, dstDeviceId, dstContextId, migrationCause, graphNodeId, "
     "virtualAddress, copyCount"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start NN, end NN, deviceId NN, contextId NN, greenContextId, streamId NN, "
     "correlationId, globalPid, value, bytes NN, graphNodeId, memKind"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start NN, end NN, eventClass NN, globalTid, correlationId, nameId NN, returnValue, "
     "callchainId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start NN, end NN, deviceId, contextId, greenContextId, streamId NN, correlationId, "
     "globalPid, deprecatedSyncType, syncType NN, eventId NN, eventSyncId"},
};

struct EnumRow {
  const char* table;
  std::int64_t id;
  const char* name;
  const char* label;
};

// Of the two kinds of events those that can stand in a file of ours.
constexpr EnumRow kEnums[] = {
    {"ENUM_CUDA_MEMCPY_OPER", 0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"},
    {"ENUM_CUDA_MEMCPY_OPER", 1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"},
    {"ENUM_CUDA_MEMCPY_OPER", 2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"},
    {"ENUM_CUDA_MEMCPY_OPER", 3, "CUDA_MEMCPY_KIND_HTOA", "Host-to-Array"},
    {"ENUM_CUDA_MEMCPY_OPER", 4, "CUDA_MEMCPY_KIND_ATOH", "Array-to-Host"},
    {"ENUM_CUDA_MEMCPY_OPER", 5, "CUDA_MEMCPY_KIND_ATOA", "Array-to-Array"},
    {"ENUM_CUDA_MEMCPY_OPER", 6, "CUDA_MEMCPY_KIND_ATOD", "Array-to-Device"},
    {"ENUM_CUDA_MEMCPY_OPER", 7, "CUDA_MEMCPY_KIND_DTOA", "Device-to-Array"},
    {"ENUM_CUDA_MEMCPY_OPER", 8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"},
    {"ENUM_CUDA_MEMCPY_OPER", 9, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host"},
    {"ENUM_CUDA_MEMCPY_OPER", 10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"},
    {"ENUM_CUDA_MEMCPY_OPER", 11, "CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"},
    {"ENUM_CUDA_MEMCPY_OPER", 12, "CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"},
    {"ENUM_CUDA_MEMCPY_OPER", 13, "CUDA_MEMCPY_KIND_UVM_DTOD", "Unified Device-to-Device"},
    {"ENUM_CUDA_MEM_KIND", 0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"},
    {"ENUM_CUDA_MEM_KIND", 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"},
    {"ENUM_CUDA_MEM_KIND", 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"},
    {"ENUM_CUDA_MEM_KIND", 3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array"},
    {"ENUM_CUDA_MEM_KIND", 4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"},
    {"ENUM_CUDA_MEM_KIND", 5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static"},
    {"ENUM_CUDA_MEM_KIND", 6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static"},
    {"ENUM_CUDA_MEM_KIND", 7, "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN", "Unknown"},
    {"ENUM_CUPTI_SYNC_TYPE", 0, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN", "Unknown"},
    {"ENUM_CUPTI_SYNC_TYPE", 1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE",
     "Event sync"},
    {"ENUM_CUPTI_SYNC_TYPE", 2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
     "Stream wait sync"},
    {"ENUM_CUPTI_SYNC_TYPE", 3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE",
     "Stream sync"},
    {"ENUM_CUPTI_SYNC_TYPE", 4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE",
     "Context sync"},
    {"ENUM_CUPTI_STREAM_TYPE", 0, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN",
     "Unknown stream type"},
    {"ENUM_CUPTI_STREAM_TYPE", 1, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT", "Default stream"},
    {"ENUM_CUPTI_STREAM_TYPE", 2, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING",
     "Non-blocking stream"},
    {"ENUM_CUPTI_STREAM_TYPE", 3, "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL", "Null stream"},
    {"ENUM_CUDA_KERNEL_LAUNCH_TYPE", 0, "CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN", "Unknown"},
    {"ENUM_CUDA_KERNEL_LAUNCH_TYPE", 1, "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular"},
    {"ENUM_CUDA_KERNEL_LAUNCH_TYPE", 2, "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE",
     "Coop Single Device"},
    {"ENUM_CUDA_KERNEL_LAUNCH_TYPE", 3, "CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE",
     "Coop Multi Device"},
    {"ENUM_NSYS_EVENT_TYPE", 33, "NvtxCategory", "NvtxCategory"},
    {"ENUM_NSYS_EVENT_TYPE", 34, "NvtxMark", "NvtxMark"},
    {"ENUM_NSYS_EVENT_TYPE", 39, "NvtxThread", "NvtxThread"},
    {"ENUM_NSYS_EVENT_TYPE", 59, "NvtxPushPopRange", "NvtxPushPopRange"},
    {"ENUM_NSYS_EVENT_TYPE", 60, "NvtxStartEndRange", "NvtxStartEndRange"},
    {"ENUM_NSYS_EVENT_TYPE", 75, "NvtxDomainCreate", "NvtxDomainCreate"},
    {"ENUM_NSYS_EVENT_TYPE", 76, "NvtxDomainDestroy", "NvtxDomainDestroy"},
    {"ENUM_NSYS_EVENT_CLASS", 0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"},
    {"ENUM_NSYS_EVENT_CLASS", 1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"},
    {"ENUM_NSYS_EVENT_CLASS", 26, "TRACE_PROCESS_EVENT_CUDA_API", "CUDA API"},
    {"ENUM_NSYS_EVENT_CLASS", 27, "TRACE_PROCESS_EVENT_OS_RUNTIME", "OSRT runtime"},
};

struct Columns {
  std::string sql;  // "a, b TEXT NN" -> "a INTEGER, b TEXT NOT NULL"
  std::size_t count = 0;
};
Columns read_columns(std::string_view columns) {
  Columns read;
  while (!columns.empty()) {
    const std::string_view column = columns.substr(0, columns.find(", "));
    columns.remove_prefix(std::min(columns.size(), column.size() + 2));
    const auto has = [&](std::string_view word) { return column.find(word) != column.npos; };
    read.sql += read.count++ == 0 ? "" : ", ";
    read.sql += column.substr(0, column.find(' '));
    read.sql += has(" TEXT") ? " TEXT" : has(" REAL") ? " REAL" : " INTEGER";
    read.sql += has(" PK") ? " PRIMARY KEY" : "";
    read.sql += has(" NN") ? " NOT NULL" : "";
  }
  return read;
}

}  // namespace

NsysTables::NsysTables(SqliteDatabase& database) : database_(database) {
  std::map<std::string, std::unique_ptr<SqlInsert>> inserts;
  for (const EnumRow& row : kEnums) {
    std::unique_ptr<SqlInsert>& insert = inserts[row.table];
    if (!insert) {
      database.execute(std::string("CREATE TABLE ") + row.table +
                       "(id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)");
      insert = std::make_unique<SqlInsert>(database, row.table, 3);
    }
    insert->row({row.id, row.name, row.label});
  }
}

SqlInsert& NsysTables::into(const std::string& name) {
  std::unique_ptr<SqlInsert>& insert = inserts_[name];
  if (!insert) {
    const auto* const table = std::ranges::find(kTables, name, &Table::name);
    if (table == std::end(kTables)) throw std::logic_error("no table " + name);
    const Columns columns = read_columns(table->columns);
    database_.execute("CREATE TABLE " + name + "(" + columns.sql + ")");
    insert = std::make_unique<SqlInsert>(database_, name, columns.count);
  }
  return *insert;
}

}  // namespace ddpprof

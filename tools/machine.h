// What this machine is, as far as files of the kernel tell.
#pragma once

#include "profiler/trace/trace.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddpprof {

// Processors this process may run on (its affinity mask), never 0.
std::int64_t usable_cpu_count();

// "AMD EPYC 9454"; "CPU" when the kernel does not tell.
std::string cpu_name();

// Bytes of memory, 0 when the kernel does not tell.
std::int64_t memory_bytes();

// The NVIDIA GPUs the driver shows. 0 without a driver.
// `driver_folder`: /proc/driver/nvidia/gpus, where the driver keeps a folder a GPU.
std::int64_t count_gpus(const std::filesystem::path& driver_folder);

// 2026-01-31T12:34:56+0100 and 20260131-123456 of a time; the clock is read by main.
std::string iso_time(std::int64_t unix_seconds);
std::string file_time(std::int64_t unix_seconds);

}  // namespace ddpprof

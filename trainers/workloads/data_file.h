// --data FILE: a workload's samples from a safetensors file.
#pragma once

#include "trainers/workloads/workload.h"

#include <filesystem>
#include <span>
#include <string>

namespace ddpprof {

// The file has each field under its name, with the samples as first dimension; what else it has is
// ignored. Nothing is read before it is fetched. `workload` is named in messages.
// Guarantees: what is fetched has values that the fields allow; else fetching throws Error.
// Throws: Error when the file cannot be read or a field is missing or of another type or shape.
DataSet read_data_file(const std::filesystem::path& path, std::span<const DataField> fields,
                       const std::string& workload);

}  // namespace ddpprof

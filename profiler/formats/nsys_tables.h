// The tables of Nsight Systems' SQLite export that ddpprof writes.
// Source: exports of nsys 2025.3.2 (EXPORT_SCHEMA_VERSION 3.20.3), column by column. NOT NULL is
// left out where a recording of ours cannot fill the column: NULL is unknown, 0 would be a figure.
#pragma once

#include "profiler/formats/sqlite_database.h"

#include <map>
#include <memory>
#include <string>

namespace ddpprof {

inline constexpr const char* kNsysSchemaVersion = "3.20.3";

// A table exists once it is asked for, as nsys itself does it: reports say "no such data" of a
// table that is not there, and print nothing of an empty one.
class NsysTables {
 public:
  // Makes the enumerations, ENUM_*, with their rows.
  explicit NsysTables(SqliteDatabase& database);

  // `name` must be one of those in nsys_tables.cpp. Shape: a row has all its columns, in their
  // order there; those left out at the end are NULL.
  SqlInsert& into(const std::string& name);

 private:
  SqliteDatabase& database_;
  std::map<std::string, std::unique_ptr<SqlInsert>> inserts_;
};

}  // namespace ddpprof

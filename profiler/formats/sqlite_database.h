// A new SQLite database in memory: tables, rows, and its bytes in the end.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace ddpprof {

// Nothing is NULL. Texts are copied where they are bound, and repaired (utf8.h): readers refuse
// what is no UTF-8.
using SqlValue = std::variant<std::monostate, std::int64_t, std::string_view>;

// Throws: Error, subject "SQLite", when a statement is refused or memory runs out.
class SqliteDatabase {
 public:
  SqliteDatabase();
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  void execute(const std::string& sql);

  // The file such a database is. Without a journal: nothing belongs beside it.
  // Guarantees: the same statements give the same bytes.
  std::string bytes();

 private:
  friend class SqlInsert;
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// Rows for one table. Not to be used after its database is gone.
class SqlInsert {
 public:
  // Shape: `columns_count` values a row, in the order of the table's columns.
  SqlInsert(SqliteDatabase& database, const std::string& table, std::size_t columns_count);
  ~SqlInsert();
  SqlInsert(const SqlInsert&) = delete;
  SqlInsert& operator=(const SqlInsert&) = delete;

  // `values`, then `more`. Columns after the last value are NULL.
  void row(std::initializer_list<SqlValue> values, std::initializer_list<SqlValue> more = {});

 private:
  struct Statement;
  std::unique_ptr<Statement> statement_;
};

}  // namespace ddpprof

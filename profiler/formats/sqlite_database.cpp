#include "profiler/formats/sqlite_database.h"

#include "profiler/formats/utf8.h"
#include "profiler/trace/error.h"

#include <sqlite3.h>

namespace ddpprof {
namespace {

void must(int code, sqlite3* connection) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  throw Error("SQLite", connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code),
              code == SQLITE_NOMEM ? "export fewer ranks or steps" : "");
}

int bind(sqlite3_stmt* statement, int position, const SqlValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return sqlite3_bind_int64(statement, position, *number);
  }
  if (const auto* text = std::get_if<std::string_view>(&value)) {
    const std::string repaired = repaired_utf8(*text);
    return sqlite3_bind_text64(statement, position, repaired.data(), repaired.size(),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, position);
}

}  // namespace

struct SqliteDatabase::Connection {
  sqlite3* handle = nullptr;
  ~Connection() { sqlite3_close(handle); }
};

SqliteDatabase::SqliteDatabase() : connection_(std::make_unique<Connection>()) {
  must(sqlite3_open(":memory:", &connection_->handle), connection_->handle);
  execute("BEGIN");
}

SqliteDatabase::~SqliteDatabase() = default;

void SqliteDatabase::execute(const std::string& sql) {
  must(sqlite3_exec(connection_->handle, sql.c_str(), nullptr, nullptr, nullptr),
       connection_->handle);
}

std::string SqliteDatabase::bytes() {
  execute("COMMIT");
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> content(
      sqlite3_serialize(connection_->handle, "main", &size, 0), sqlite3_free);
  execute("BEGIN");
  if (content == nullptr) must(SQLITE_NOMEM, nullptr);
  return {reinterpret_cast<const char*>(content.get()), static_cast<std::size_t>(size)};
}

struct SqlInsert::Statement {
  sqlite3* connection = nullptr;
  sqlite3_stmt* handle = nullptr;
  ~Statement() { sqlite3_finalize(handle); }
};

SqlInsert::SqlInsert(SqliteDatabase& database, const std::string& table, std::size_t columns_count)
    : statement_(std::make_unique<Statement>()) {
  statement_->connection = database.connection_->handle;
  std::string sql = "INSERT INTO " + table + " VALUES(?";
  for (std::size_t i = 1; i < columns_count; ++i) sql += ",?";
  sql += ")";
  must(sqlite3_prepare_v2(statement_->connection, sql.c_str(), -1, &statement_->handle, nullptr),
       statement_->connection);
}

SqlInsert::~SqlInsert() = default;

void SqlInsert::row(std::initializer_list<SqlValue> values, std::initializer_list<SqlValue> more) {
  sqlite3_stmt* const statement = statement_->handle;
  int position = 0;
  for (const auto& some : {values, more}) {
    for (const SqlValue& value : some) {
      must(bind(statement, ++position, value), statement_->connection);
    }
  }
  must(sqlite3_step(statement), statement_->connection);
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

}  // namespace ddpprof
